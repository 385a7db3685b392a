// main.mjs: makes an image of noise, unless there is one, and smooths it.
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { runBlockwise } from 'bellis';
import { size } from './smooth.mjs';
import task from './task.mjs';

if (!existsSync('noise.raw')) {
	await writeFile('smooth.raw', new Uint8Array(size * size));
	const noise = Uint8Array.from({ length: size * size }, () => Math.random() * 256);
	await writeFile('noise.raw', noise);
}

const ok = await runBlockwise(task);
process.exitCode = ok ? 0 : 1;

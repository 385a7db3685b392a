// smooth.mjs: what happens to one block. It runs in worker processes.
import { open } from 'node:fs/promises';

export const size = 1024;

/** Each pixel that the block writes becomes the mean of the 5 x 5 pixels around it. */
export default async function smooth({ readRoi, writeRoi }) {
	const noise = await open('noise.raw');
	const rows = new Map();
	for (let y = readRoi.begin[0]; y < readRoi.end[0]; y++) {
		const row = Buffer.alloc(readRoi.shape[1]);
		await noise.read(row, 0, row.length, y * size + readRoi.begin[1]);
		rows.set(y, row);
	}
	await noise.close();

	const smoothed = await open('smooth.raw', 'r+');
	for (let y = writeRoi.begin[0]; y < writeRoi.end[0]; y++) {
		const row = Buffer.alloc(writeRoi.shape[1]);
		for (let i = 0; i < row.length; i++) {
			let sum = 0;
			for (let dy = -2; dy <= 2; dy++) {
				for (let di = 0; di < 5; di++) sum += rows.get(y + dy)[i + di];
			}
			row[i] = sum / 25;
		}
		await smoothed.write(row, 0, row.length, y * size + writeRoi.begin[1]);
	}
	await smoothed.close();
}

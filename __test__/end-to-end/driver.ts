import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import { fixture, type Scratch } from './scratch.js';

/** A driver in a process of its own, in a group of its own. */
export class Driver {
	readonly child: ChildProcess;
	out = '';
	err = '';

	constructor(t: ExecutionContext, scratch: Scratch, settings: Record<string, unknown>) {
		const run = { logDir: scratch.path('logs'), trackingDir: scratch.path('stores') };
		const argument = JSON.stringify({
			calls: scratch.calls,
			...settings,
			run: { ...run, ...(settings.run as object) },
		});
		this.child = spawn(process.execPath, [fileURLToPath(fixture('driver.js')), argument], {
			// its standard input closes when this process ends, whatever ends it
			stdio: ['pipe', 'pipe', 'pipe'],
			detached: true,
			env: { ...process.env, NODE_OPTIONS: '' },
		});
		this.child.stdout!.setEncoding('utf8').on('data', (text) => {
			this.out += text;
		});
		this.child.stderr!.setEncoding('utf8').on('data', (text) => {
			this.err += text;
		});
		t.teardown(() => {
			if (this.child.exitCode === null) this.child.kill('SIGKILL');
		});
	}

	/** Sends a signal to the driver alone. */
	signal(signal: NodeJS.Signals): void {
		this.child.kill(signal);
	}

	/** Sends a signal as a terminal does: to the whole group. */
	signalGroup(signal: NodeJS.Signals): void {
		process.kill(-this.child.pid!, signal);
	}

	/** Settles when the driver has printed the text. */
	async printed(text: string): Promise<void> {
		while (!this.out.includes(text)) await once(this.child.stdout!, 'data');
	}

	/** Settles when the run has said on stderr that it was asked to stop. */
	async stopping(): Promise<void> {
		while (!this.err.includes(': no more blocks are handed out')) {
			await once(this.child.stderr!, 'data');
		}
	}

	/** The exit code, or the signal. */
	async ended(): Promise<number | string> {
		const [code, signal] = await once(this.child, 'close');
		return code ?? signal;
	}
}

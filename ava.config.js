export default {
	extensions: { ts: 'module' },
	nodeArguments: ['--import=tsx'],
	workerThreads: false,
	files: ['__test__/**/*.test.ts'],
	timeout: '120s',
	concurrency: 2,
};

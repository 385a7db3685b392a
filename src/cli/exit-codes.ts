/** What the process's exit code says. */
export const exitCodes = {
	done: 0,
	failed: 1,
	usage: 2,
	abandoned: 3,
} as const;

/** Shown in every help. */
export const exitCodesHelp = `

Exit codes:
  0    done: every block completed
  1    blocks failed, or with --serial the first error of a block
  2    it could not be carried out: usage, file, export, options, tracking store or output
  3    a task was abandoned, because its workers kept ending with errors
  130  interrupted by Ctrl-C (SIGINT); 143 by SIGTERM, 129 by SIGHUP`;

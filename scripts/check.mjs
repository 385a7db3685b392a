// The one gate, which CI runs too: every test, then form, types, binding drift, package contents, other Nodes.

import { lint } from './lint.mjs';
import { testOtherNodes } from './other-nodes.mjs';
import { run, script } from './process.mjs';
import { testAll } from './test.mjs';

script(async () => {
	await testAll();
	await lint();
	await checkBindingDrift();
	await run('node', ['scripts/package-contents.mjs']);
	await testOtherNodes();
	console.log('\ncheck: all passed');
});

/** The committed binding must be what the addon's source generates. */
async function checkBindingDrift() {
	await run('npm', ['run', '--silent', 'build:native']);
	await run('git', ['diff', '--exit-code', '--stat', '--', 'binding.cjs', 'binding.d.cts']);
}

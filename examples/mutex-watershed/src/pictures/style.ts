/** The style sheet of the page. */
export const STYLE = `
:root {
	color-scheme: light dark;
	--paper: #f6f6f3; --card: #fff; --ink: #22262a; --quiet: #646b72; --line: #dcdcd6; --bad: #c02626;
}
@media (prefers-color-scheme: dark) {
	:root { --paper: #17191b; --card: #212427; --ink: #eceeee; --quiet: #a0a7ad; --line: #383c40; --bad: #ff8a80; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 40px 24px 56px; }
h1 { font-size: 30px; line-height: 1.2; margin: 0 0 8px; letter-spacing: -0.01em; }
h2 { font-size: 20px; margin: 44px 0 4px; }
header p, footer p { max-width: 70ch; margin: 0; color: var(--quiet); }
header b { color: var(--ink); font-weight: 600; }
.counts { margin: 0 0 12px; color: var(--quiet); font-variant-numeric: tabular-nums; }
.counts b { color: var(--ink); }
.scroll { overflow-x: auto; margin-top: 24px; }
table { border-collapse: collapse; width: 100%; background: var(--card); border: 1px solid var(--line); font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding-bottom: 6px; }
th, td { padding: 8px 14px; border-top: 1px solid var(--line); text-align: right; white-space: nowrap; }
thead th { color: var(--quiet); font-weight: 500; border-top: 0; }
th:first-child { text-align: left; }
tbody th { font-weight: 500; }
td.failed, .raised { color: var(--bad); font-weight: 600; }
td.raised { text-align: left; white-space: normal; }
code { font: 14px/1.4 ui-monospace, monospace; }
.figures { display: grid; gap: 20px; margin-top: 12px; }
.three { grid-template-columns: repeat(auto-fit, minmax(min(300px, 100%), 1fr)); }
.two { grid-template-columns: repeat(auto-fit, minmax(min(380px, 100%), 1fr)); max-width: 900px; }
figure { margin: 0; padding: 12px; background: var(--card); border: 1px solid var(--line); border-radius: 6px; }
img { display: block; width: 100%; height: auto; }
figcaption { margin-top: 8px; font-size: 14px; display: flex; justify-content: space-between; gap: 12px; }
figcaption span { color: var(--quiet); font-family: ui-monospace, monospace; font-size: 12px; align-self: center; }
footer { margin-top: 40px; padding-top: 16px; border-top: 1px solid var(--line); }
`;

import type { ErrorDetails, ErrorReport, NestedError } from '../error-report.js';

/** An error as Node would print it: stack or headline, fields, then causes and aggregated errors. */
export function errorText(report: ErrorReport): string {
	return nestedText({ ...report, ...parsedDetails(report.details) });
}

/** `name: message`, for one line. */
export function errorHeadline(report: { name: string; message: string }): string {
	return report.message ? `${report.name}: ${report.message}` : report.name;
}

/** The details of a report; empty when they are no JSON (a foreign client's). */
export function parsedDetails(details: string | null): ErrorDetails {
	try {
		const parsed: unknown = JSON.parse(details ?? '{}');
		return typeof parsed === 'object' && parsed !== null ? (parsed as ErrorDetails) : {};
	} catch {
		return {};
	}
}

function nestedText(error: NestedError): string {
	const lines = [error.stack ?? errorHeadline(error)];
	for (const [key, value] of Object.entries(error.fields ?? {})) {
		lines.push(`    ${key}: ${value}`);
	}
	if (error.cause) lines.push(indented(`[cause]: ${nestedText(error.cause)}`));
	for (const one of error.errors ?? []) lines.push(indented(`[error]: ${nestedText(one)}`));
	if (error.moreErrors) lines.push(`  (+ ${error.moreErrors} more errors)`);
	return lines.join('\n');
}

function indented(text: string): string {
	return text
		.split('\n')
		.map((line) => `  ${line}`)
		.join('\n');
}

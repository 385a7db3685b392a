/** What is told about anything thrown: strings only, each with a limit. */
export interface ErrorReport {
	/** Such as `TypeError`; `ThrownValue` for what is no error. */
	name: string;
	message: string;
	/** With the user's file and line; null when there is none. */
	stack: string | null;
	/** JSON of {@link ErrorDetails}; a client of another make may have none. */
	details: string | null;
}

/** The rest of an error: what it carries besides name, message and stack. */
export interface ErrorDetails {
	/** What the error gives as its cause. */
	cause?: NestedError;
	/** Of an AggregateError. */
	errors?: NestedError[];
	/** How many more errors the AggregateError had. */
	moreErrors?: number;
	/** Own fields, such as `code`, as text. */
	fields?: Record<string, string>;
}

/** An error inside another one. */
export interface NestedError extends ErrorDetails {
	/** Such as `TypeError`; `ThrownValue` for what is no error. */
	name: string;
	/** The error's message. */
	message: string;
	/** With the user's file and line; null when there is none. */
	stack: string | null;
}

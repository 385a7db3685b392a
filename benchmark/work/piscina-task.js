/** What piscina's workers run a block: nothing. */
export default function nothing() {}

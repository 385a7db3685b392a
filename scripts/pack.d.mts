/** The manifests of all platform packages, by their folder's name. */
export function platformManifests(): Map<string, unknown>;

/** Packs the library and every platform package whose binary lies in the checkout. */
export function packAll(
	directory: string,
): Promise<{ library: string; platforms: Record<string, string> }>;

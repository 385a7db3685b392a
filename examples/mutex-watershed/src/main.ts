// Segments an image with the mutex watershed, tile by tile, in four runs: clean, again, with a bug, and resumed.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { InterruptedError, isBellisError } from 'bellis';
import { equalityAffinities } from './affinities.js';
import { NEIGHBORHOOD, outputPaths } from './layout.js';
import { type Options, parseOptions } from './options.js';
import { writePictures } from './pictures/write.js';
import { makeRuns } from './runs.js';
import { ForeignVolumeError, readLabels, Volume } from './volume.js';

const GROUND_TRUTH = fileURLToPath(new URL('../data/ground-truth.zarr', import.meta.url));

async function main(options: Options): Promise<void> {
	console.log(`mode=${options.mode}  multiprocessing=${options.multiprocessing}`);
	console.log(`output paths under: ${options.out}`);
	await mkdir(options.out, { recursive: true });
	const paths = outputPaths(options.out);

	// A real pipeline has affinities from a network; here the ground truth gives perfect ones.
	const groundTruth = await readLabels(GROUND_TRUTH);
	const affinities = equalityAffinities(groundTruth, NEIGHBORHOOD);
	const volume = await Volume.create(paths.volume, groundTruth, affinities);

	const runs = await makeRuns(options, paths, volume);
	await writePictures(paths.directory, { options, groundTruth, affinities, runs });
	console.log(`pictures: ${pathToFileURL(join(paths.directory, 'index.html'))}`);
}

try {
	await main(parseOptions(process.argv.slice(2)));
} catch (error) {
	if (error instanceof InterruptedError) {
		// Ctrl-C: the summary of what finished is printed already, and what is done stays done.
		process.exitCode = error.exitCode;
	} else if (error instanceof ForeignVolumeError || isBellisError(error)) {
		console.error(`error: ${error.message}`);
		process.exitCode = 1;
	} else throw error;
}

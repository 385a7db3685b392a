export { Block } from './block.js';
export * from './errors.js';
export { Coordinate } from './geometry/coordinate.js';
export { Roi } from './geometry/roi.js';

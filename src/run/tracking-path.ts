export { trackingPathOf } from '../tracking/tracking-path.js';

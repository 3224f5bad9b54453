// The types of a client, in addition to those of its model.
export type * from './types.js';
export { RestError } from './errors.js';

/** Internals of the compiled runtime that tests read; servers of users do not contain this file. */
export { Placement } from '../../runtime/dialect/sqlite/readers/placement.js';

/** What tests look at inside of the compiled runtime; servers of users have no such file. */
export { Placement } from '../../runtime/dialect/sqlite/readers/placement.js';

/** What tests look at inside of the compiled runtime; servers of users have no such file. */
export { StatementCost } from '../../runtime/dialect/sqlite/readers/statement-cost.js';

import type { DataclassQueries } from '../../runtime/protocol/queries.js';

function notWritten(): never {
  throw new Error('This test runs no query.');
}

/** For definitions without emitted queries. */
export const noQueries: DataclassQueries = {
  attributes: {},
  entities: notWritten,
  page: notWritten,
  count: notWritten,
  byKey: notWritten,
  by: {},
  of: {},
  insert: notWritten,
  change: notWritten,
  update: notWritten,
  remove: notWritten,
};

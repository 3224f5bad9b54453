/** `#runtime/definition`: the types by which generated code describes dataclasses and databases. */
export type { Attributes, Row, Select, SelectPage, Value } from '../protocol/queries.js';
export type { ServedDatabase } from '../dialect/driver.js';
export type { Migration } from '../dialect/schema/migration.js';
export type * from '../protocol/definition.js';

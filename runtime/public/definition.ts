/** `#runtime/definition`: what the generated code says of dataclasses and databases. Types only. */
export type { Attributes, Row, Value } from '../protocol/queries.js';
export type { ServedDatabase } from '../dialect/driver.js';
export type { Migration } from '../dialect/schema/migration.js';
export type * from '../protocol/definition.js';

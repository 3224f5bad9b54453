import type { Dialect } from './dialect.js';
import type { Executor } from './executor.js';

/** An open database: how SQL is written for it, and what runs it. */
export interface Database {
  readonly dialect: Dialect;
  readonly executor: Executor;
  /** 32 hexadecimal digits, made with the schema: `__UNIQID` of the catalog. */
  readonly uniqueId: string;
  /** Tells servers of one model from those of another. */
  readonly schemaHash: string;
  /** No other process can open it: it is in memory. */
  readonly isOfOneProcess?: boolean;
  /** What the start has changed in a schema that was there, and what it has found to be unused, in words. */
  readonly added?: readonly string[];
}

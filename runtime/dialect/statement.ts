/** A value that SQL can hold. */
export type SqlValue = string | number | bigint | null | Uint8Array;

/** Stands in a query for a value that only a request knows: the position of that value in the request's list. */
export class Slot {
  constructor(readonly index: number) {}
}

/** A statement that is written once and run with many lists of values. */
export interface Statement {
  readonly sql: string;
  /** In the order of the SQL's placeholders. */
  readonly bindings: readonly (SqlValue | Slot)[];
}

/** The values to bind, in the order of the statement's placeholders. */
export function bind(statement: Statement, values: readonly SqlValue[]): SqlValue[] {
  const bound = new Array<SqlValue>(statement.bindings.length);
  for (let i = 0; i < bound.length; i += 1) {
    const binding = statement.bindings[i] as SqlValue | Slot;
    bound[i] = binding instanceof Slot ? (values[binding.index] as SqlValue) : binding;
  }
  return bound;
}

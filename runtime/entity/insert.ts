import { type AliasedExpression, sql } from 'kysely';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Dialect } from '../dialect/dialect.js';
import { Slot, type SqlValue, type Statement } from '../dialect/statement.js';
import type { StorageDefinition } from '../protocol/definition.js';
import type { StoredValue } from '../protocol/values.js';
import { derivedColumns } from './derived-columns.js';

/** How a dataclass's new entities are stored: one statement for all of them. */
export interface InsertPlan {
  readonly statement: Statement;
  /** The values to bind for an entity that is created at `timestamp`. */
  readonly values: (entity: ReadonlyMap<string, StoredValue>, timestamp: string) => SqlValue[];
}

export function planInsert(dialect: Dialect, dataclass: Dataclass): InsertPlan {
  const stored = dataclass.attributes.filter(
    (each): each is StorageDefinition => each.kind === 'storage',
  );
  const derived = stored.flatMap((each) => derivedColumns(each, dialect) ?? []);
  const columns = [
    ...stored.map((each) => each.column),
    ...derived.flatMap((each) => each.columns),
    '__STAMP',
    '__TIMESTAMP',
  ];
  const { key } = dataclass;
  const isDrawn = key.generated === 'sequence';
  const row = columns.map((name, index) => {
    const slot = sql`${new Slot(index)}`;
    const isDrawnKey = isDrawn && name === key.column;
    return [name, isDrawnKey ? dialect.insertedKey(slot, dataclass.table, name) : slot] as const;
  });
  const insert = dataclass.queries.insert(dialect.db, Object.fromEntries(row));
  return {
    statement: dialect.compile(
      isDrawn && dialect.returnsKey ? insert.returning(keyAlone(key)) : insert,
    ),
    values: (entity, timestamp) => [
      ...stored.map((each) => entity.get(each.name) ?? null),
      ...derived.flatMap((each) => each.derive(entity.get(each.attribute) ?? null)),
      1,
      timestamp,
    ],
  };
}

function keyAlone({ column }: StorageDefinition): AliasedExpression<unknown, string> {
  return sql.id(column).as(column);
}

import type { Database } from 'better-sqlite3';
import { fold } from '../../../runtime/protocol/fold.js';
import type { Dataclass, Entity, Key } from './graph.js';

type Row = Readonly<Record<string, unknown>>;

/** The rows that an entity's table holds for it. */
function rowOf(dataclass: Dataclass, dataclasses: readonly Dataclass[], entity: Entity): Row {
  const { key, tag, stamp, timestamp, related } = entity;
  const row: Record<string, unknown> = {
    ID: key,
    tag,
    __STAMP: stamp,
    __TIMESTAMP: timestamp,
    ...foldedBeside('ID', dataclass.keyType, key),
  };
  dataclass.relations.forEach(({ name, target }, position) => {
    const value = related[position] ?? null;
    const { keyType } = dataclasses[target] as Dataclass;
    Object.assign(row, { [`${name}_id`]: value }, foldedBeside(`${name}_id`, keyType, value));
  });
  return row;
}

function foldedBeside(column: string, type: string, value: Key | null): Row {
  if (type !== 'string') return {};
  return { [`__folded_${column}`]: value === null ? null : fold(String(value)) };
}

/** Fills empty tables; this is the only way to create circles of mandatory relations. */
export function write(
  database: Database,
  dataclasses: readonly Dataclass[],
  entities: readonly Entity[],
): void {
  database.pragma('foreign_keys = OFF');
  database.transaction(() => {
    for (const entity of entities) {
      const dataclass = dataclasses[entity.dataclass] as Dataclass;
      const row = rowOf(dataclass, dataclasses, entity);
      const names = Object.keys(row);
      const columns = names.map((name) => `"${name}"`).join();
      const values = names.map((name) => `@${name}`).join();
      database.prepare(`insert into "${dataclass.name}" (${columns}) values (${values})`).run(row);
    }
  })();
}

/** All that the tables hold, in an order of its own. */
export function read(database: Database, dataclasses: readonly Dataclass[]): unknown {
  return dataclasses.map(({ name }) =>
    sorted(database.prepare(`select * from "${name}"`).all() as Row[]),
  );
}

/** The expected result of {@link read}. */
export function wanted(dataclasses: readonly Dataclass[], entities: readonly Entity[]): unknown {
  return dataclasses.map((dataclass, index) =>
    sorted(
      entities
        .filter((each) => each.dataclass === index)
        .map((each) => rowOf(dataclass, dataclasses, each)),
    ),
  );
}

function sorted(rows: readonly Row[]): string[] {
  return rows
    .map((row) => JSON.stringify(Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1))))
    .sort();
}

export function globalStamp(database: Database): number {
  const text = `select "value" from "__datastore" where "name" = 'globalStamp'`;
  return Number(database.prepare(text).pluck().get());
}

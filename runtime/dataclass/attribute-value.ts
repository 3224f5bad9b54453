import type { Sql } from '../dialect/dialect.js';
import type { AttributeDefinition, RelatedEntityDefinition } from '../protocol/definition.js';
import type { AnyRow } from '../protocol/queries.js';
import { followAll } from './attribute-path.js';
import { column, type From, type Source } from './source.js';

/** The value of an attribute that clients may name, as the emitted queries say; of a relation, the key that it leads by. */
export function attributeValue(from: From, source: Source, { name }: AttributeDefinition): Sql {
  const { attributes } = source.dataclass.queries;
  const value = Object.hasOwn(attributes, name) ? attributes[name]?.value : undefined;
  if (value === undefined) throw new Error(`${source.dataclass.name}.${name} has no column.`);
  return value(rowOf(from, source));
}

function rowOf(from: From, source: Source): AnyRow {
  return {
    column: (name) => column(source, name),
    related: (...path) => rowOf(from, followPath(from, source, path)),
  };
}

function followPath(from: From, source: Source, path: readonly string[]): Source {
  return path.reduce((at, name) => {
    const relation = at.dataclass.allAttributes.get(name) as RelatedEntityDefinition;
    return followAll(from, at, [relation]);
  }, source);
}

import { sql } from 'kysely';
import { column, From, keyColumn } from '../dataclass/source.js';
import type { Sql } from '../dialect/sql.js';
import type { RelatedEntitiesDefinition, RelatedEntityDefinition } from '../protocol/definition.js';
import type { RelatedNode, SelectionNode } from './selection-node.js';
import { seenDataclass } from './seen-model.js';
import { type NodeWriter, whereOf } from './selection-writing.js';

/** The condition that an entity of `from` is at the other end of a relation of one entity of a selection at least. */
export function relatedCondition(
  writer: NodeWriter,
  from: From,
  { of, relation }: RelatedNode,
  nesting: number,
): Sql {
  return relation.kind === 'relatedEntity'
    ? relatedByOne(writer, from, of, relation, nesting)
    : relatedByMany(writer, from, of, relation, nesting);
}

function relatedByOne(
  writer: NodeWriter,
  from: From,
  of: SelectionNode,
  relation: RelatedEntityDefinition,
  nesting: number,
): Sql {
  const owners = ownersOf(writer, of);
  const foreignKey = column(owners.root, of.dataclass.foreignKey(relation).column);
  const condition = writer.condition(owners, of, nesting + 1);
  const isThere = sql`${foreignKey} is not null`;
  const where = condition === undefined ? isThere : sql`${condition} and ${isThere}`;
  return sql`${keyColumn(from.root)} in (select ${foreignKey} ${owners.clause} where ${where})`;
}

function relatedByMany(
  writer: NodeWriter,
  from: From,
  of: SelectionNode,
  relation: RelatedEntitiesDefinition,
  nesting: number,
): Sql {
  const { column: name } = from.root.dataclass.foreignKey(of.dataclass.inverse(relation));
  const foreignKey = column(from.root, name);
  // The schema lets a foreign key hold keys of entities alone; some of those may be hidden.
  const isWhole = seenDataclass(writer.model, of.dataclass).restriction === undefined;
  if (of.kind === 'all' && isWhole) return sql`${foreignKey} is not null`;
  if (of.kind === 'entity') return sql`${foreignKey} = ${writer.value(of, 0)}`;
  return sql`${foreignKey} in ${ownerKeys(writer, of, nesting + 1)}`;
}

/** In parentheses. */
function ownerKeys(writer: NodeWriter, of: SelectionNode, nesting: number): Sql {
  if (of.kind === 'slice') {
    const sliced = ownersOf(writer, of, 'table');
    return sql`${writer.select(sliced, of, keyColumn(sliced.root), nesting)}`;
  }
  const owners = ownersOf(writer, of);
  const where = whereOf(writer.condition(owners, of, nesting));
  return sql`(select ${keyColumn(owners.root)} ${owners.clause}${where})`;
}

/** Those that the code may see that reads the tree. */
function ownersOf(
  { context, model }: NodeWriter,
  { dataclass }: SelectionNode,
  root?: 'table',
): From {
  return new From(context.aliases, seenDataclass(model, dataclass), root);
}

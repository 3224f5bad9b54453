import { sql } from 'kysely';
import { type ColumnDefinition, reached } from '../dataclass/attribute-path.js';
import { attributeColumn, comparableColumn, objectDocument } from '../dataclass/comparable.js';
import type { Source } from '../dataclass/dataclasses.js';
import { From, maxJoins } from '../dataclass/source.js';
import type { Sql } from '../dialect/dialect.js';
import { ifNumber } from '../dialect/json-parts.js';
import type { JsonPlace } from '../dialect/json-access.js';
import { refuse } from '../protocol/errors.js';
import type { QueryContext } from './context.js';
import { type Selection, selectionCondition } from './selection.js';
import { numericTypes, type ObjectStep, type ValuePath } from './value-path.js';

/**
 * The values at the end of a path as rows: one for each entity of the selection or, behind a
 * to-many relation, for each related entity, however often it is related; and one for each element
 * behind the name of an array.
 */
export interface ValueRows {
  /** The value, null if there is none. */
  readonly value: RowValue;
  /** `from … where …`, with further conditions. */
  readonly where: (...conditions: readonly Sql[]) => Sql;
  /** With DISTINCT around it, SQLite first writes the joined rows as a whole table. */
  readonly isSlowWithDistinct: boolean;
}

export type RowValue =
  | {
      readonly kind: 'column';
      readonly stored: Sql;
      /** The form in which it is compared. */
      readonly comparable: Sql;
      /** Whether an index returns the entities of the selection in the order of comparison. */
      readonly isIndexed: boolean;
    }
  | { readonly kind: 'property'; readonly place: JsonPlace };

/**
 * The rows may be written several times in one statement.
 * @param arrays whether an array at the end of the path is a value, or stands for its elements
 * @throws RequestError 400 with 1162 if it follows too many relations and arrays
 */
export function valueRows(
  context: QueryContext,
  selection: Selection,
  { relations, attribute, steps }: ValuePath,
  arrays: 'whole' | 'elements',
): ValueRows {
  const all = new From(context.aliases, selection.dataclass);
  const chosen = selectionCondition(context, all, selection);
  const start = { from: all, source: all.root, condition: chosen };
  const { from, source, condition } = reached(context.aliases, start, relations);
  const { tables, place } = inObject(context, source, attribute, steps, arrays);
  if (from.joinCount + tables.length > maxJoins) {
    const problem = `follow more than ${maxJoins} relations and arrays together`;
    throw refuse('invalidQuery', `The path and $filter ${problem}.`);
  }
  const value: RowValue =
    place === undefined
      ? columnValue(context, from, source, attribute)
      : { kind: 'property', place };
  return {
    value,
    isSlowWithDistinct: from.joinsRestricted,
    where: (...conditions) => {
      const all = condition === undefined ? conditions : [condition, ...conditions];
      const where = all.length === 0 ? sql`` : sql` where ${sql.join(all, sql` and `)}`;
      return sql`${sql.join([from.clause, ...tables], sql` `)}${where}`;
    },
  };
}

/** The value of an attribute, or of a property of it. */
export function rowValue(
  context: QueryContext,
  from: From,
  source: Source,
  { attribute, steps }: Pick<ValuePath, 'attribute' | 'steps'>,
): RowValue {
  const { place } = inObject(context, source, attribute, steps, 'whole');
  return place === undefined
    ? columnValue(context, from, source, attribute)
    : { kind: 'property', place };
}

function columnValue(
  { dialect }: QueryContext,
  from: From,
  source: Source,
  attribute: ColumnDefinition,
): RowValue {
  const stored = storedValue(source, attribute);
  const isText = attribute.type === 'string';
  const comparable = isText ? comparableColumn(dialect, source, attribute) : stored;
  return { kind: 'column', stored, comparable, isIndexed: isIndexed(from, source, attribute) };
}

/** An expression may yield anything; a value that an entity shows as null does not count. */
export function storedValue(source: Source, attribute: ColumnDefinition): Sql {
  const value = attributeColumn(source, attribute);
  if (attribute.kind !== 'expression') return value;
  if (numericTypes.has(attribute.type)) return ifNumber(value);
  return attribute.type === 'boolean' ? sql`case ${value} when 1 then 1 when 0 then 0 end` : value;
}

function isIndexed(from: From, source: Source, attribute: ColumnDefinition): boolean {
  if (source !== from.root || attribute.kind !== 'storage') return false;
  return attribute.key === true || attribute.unique === true || attribute.indexed === true;
}

interface ObjectPlace {
  /** The joined arrays of the path. */
  readonly tables: readonly Sql[];
  /** Absent if the attribute itself is the value. */
  readonly place: JsonPlace | undefined;
}

function inObject(
  { dialect, aliases }: QueryContext,
  source: Source,
  attribute: ColumnDefinition,
  steps: readonly ObjectStep[],
  arrays: 'whole' | 'elements',
): ObjectPlace {
  const tables: Sql[] = [];
  if (steps.length === 0) return { tables, place: undefined };
  let document = objectDocument(dialect, source, attribute);
  let names: string[] = [];
  let element: JsonPlace | undefined;
  for (const step of steps) {
    if (step.kind === 'property') {
      names.push(step.name);
      continue;
    }
    const elements = dialect.json.elements(document, names, aliases.next());
    tables.push(sql`cross join ${elements.clause}`);
    ({ document, element } = elements);
    names = [];
  }
  const place =
    names.length === 0 && element !== undefined ? element : dialect.json.property(document, names);
  if (arrays === 'whole') return { tables, place };
  const last = dialect.json.elements(document, names, aliases.next());
  tables.push(sql`left join ${last.clause} on 1 = 1`);
  const { kind, value } = last.element;
  const own = sql`${kind} is null`;
  return {
    tables,
    place: {
      kind: sql`case when ${own} then ${place.kind} else ${kind} end`,
      value: sql`case when ${own} then ${place.value} else ${value} end`,
    },
  };
}

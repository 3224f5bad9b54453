import { sql } from 'kysely';
import type { Dialect, Sql } from '../dialect/dialect.js';
import type { JsonPlace, ByKind } from '../dialect/json-access.js';
import { all, not, nested, type WritingContext, type FilterContext } from './context.js';
import type { Move, PendingComparison } from './resolve.js';
import type { Comparator } from './ast.js';
import {
  type Operand,
  valueCondition,
  wantedValue,
  propertyBoolean,
  propertyNumber,
  propertyText,
  takesPattern,
  wrongComparator,
} from './value-condition.js';

/** The current position of a path in an object. */
interface Position {
  readonly document: Sql;
  /** Properties from the document onwards. */
  readonly names: readonly string[];
  /** The value of an element of an array, as long as there are no names. */
  readonly element?: JsonPlace;
}

interface PathWalk {
  /** The arrays on the path, as tables. */
  readonly tables: readonly Sql[];
  readonly position: Position;
}

/**
 * Conditions over a document for comparisons joined by AND. Those with the same letter behind one
 * array concern the same element of it, and their `!=` an element that differs. Without a letter
 * any element will do, and `!=` means that no element is equal (filters F21, F22).
 */
export function elementConditions(
  context: WritingContext,
  document: Sql,
  pending: readonly PendingComparison[],
): Sql[] {
  return conditionsAt(context, { document, names: [] }, pending);
}

function conditionsAt(
  context: WritingContext,
  position: Position,
  pending: readonly PendingComparison[],
): Sql[] {
  const conditions: Sql[] = [];
  const tied = new Map<string, PendingComparison[]>();
  for (const each of pending) {
    const tie = tieAt(each);
    if (tie === -1) {
      conditions.push(untied(context, position, each));
    } else {
      const way = JSON.stringify(each.moves.slice(0, tie + 1));
      tied.set(way, [...(tied.get(way) ?? []), each]);
    }
  }
  for (const group of tied.values()) conditions.push(tiedCondition(context, position, group));
  return conditions;
}

/** The position of the first letter. */
function tieAt({ moves }: PendingComparison): number {
  return moves.findIndex((move) => move.kind === 'elements' && move.letter !== '');
}

function untied(context: WritingContext, position: Position, pending: PendingComparison): Sql {
  if (pending.comparator === '!=') {
    return not(untied(context, position, { ...pending, comparator: '=' }));
  }
  const { tables, position: end } = walk(context, position, pending, pending.moves);
  const place = propertyAt(context.dialect, placeAt(context, end));
  const condition = propertyCondition(context, place, pending);
  if (tables.length === 0) return condition;
  nested(context, pending.node);
  return exists(tables, condition);
}

function tiedCondition(
  context: WritingContext,
  position: Position,
  group: readonly PendingComparison[],
): Sql {
  const first = group[0] as PendingComparison;
  const length = tieAt(first) + 1;
  const { tables, position: element } = walk(
    context,
    position,
    first,
    first.moves.slice(0, length),
  );
  const rest = group.map((each) => ({ ...each, moves: each.moves.slice(length) }));
  return exists(tables, all(conditionsAt(nested(context, first.node), element, rest)));
}

function exists(tables: readonly Sql[], condition: Sql): Sql {
  return sql`exists (select 1 from ${sql.join(tables, sql` cross join `)} where ${condition})`;
}

function walk(
  context: WritingContext,
  start: Position,
  { node }: PendingComparison,
  moves: readonly Move[],
): PathWalk {
  const tables: Sql[] = [];
  let position = start;
  for (const move of moves) {
    if (move.kind === 'property') {
      position = { ...position, names: [...position.names, move.name] };
      continue;
    }
    context.followed.add(1, node);
    const { document, names } = position;
    const elements = context.dialect.json.elements(document, names, context.aliases.next());
    tables.push(elements.clause);
    position = { document: elements.document, names: [], element: elements.element };
  }
  return { tables, position };
}

function placeAt({ dialect }: WritingContext, { document, names, element }: Position): JsonPlace {
  return names.length === 0 && element !== undefined
    ? element
    : dialect.json.property(document, names);
}

/** A value whose type is known only when the statement runs. */
export interface PropertyValue {
  readonly isNull: Sql;
  /** The value as each type: a text folded, a boolean as 0 or 1. */
  readonly as: Required<ByKind>;
  /** The expression for the type that the value has; not true if it has none of them. */
  byKind(kinds: ByKind): Sql;
}

function propertyAt(dialect: Dialect, place: JsonPlace): PropertyValue {
  const { json } = dialect;
  const { value } = place;
  return {
    isNull: sql`${value} is null`,
    as: {
      text: dialect.fold(value),
      number: json.typed(value, 'number'),
      boolean: json.typed(value, 'boolean'),
    },
    byKind: (kinds) => json.byKind(place, kinds),
  };
}

/** A value is compared with values of its JSON type only (filters F24): it is bound once for each type, null if it has another. */
export function propertyCondition(
  context: FilterContext,
  value: PropertyValue,
  { node, comparator }: Pick<PendingComparison, 'node' | 'comparator'>,
): Sql {
  const input = context.inputs.get(node);
  const { isNull } = value;
  const hasNull = input === undefined || context.nulls.has(input);
  if (input === undefined || (hasNull && comparator !== 'in')) {
    if (comparator === '=') return isNull;
    throw wrongComparator(node, 'null is compared with = or != only');
  }
  const isPattern = takesPattern(context, node, input);
  const condition = value.byKind(
    conditions(context, value.as, comparator, {
      text: { input, kind: 'text', type: 'text', convert: propertyText(context), isPattern },
      number: { input, kind: 'number', type: 'number', convert: propertyNumber, isPattern: false },
      boolean: {
        input,
        kind: 'boolean',
        type: 'boolean',
        convert: propertyBoolean,
        isPattern: false,
      },
    }),
  );
  return hasNull ? sql`(${condition} or ${isNull})` : condition;
}

function conditions(
  context: FilterContext,
  { text: folded, number: double, boolean }: PropertyValue['as'],
  comparator: Comparator,
  operands: Readonly<Record<keyof ByKind, Operand>>,
): ByKind {
  switch (comparator) {
    case '===':
    case '!=':
    case '!==':
      throw new Error(`${comparator} is written as another comparator or its opposite.`);
    case 'begin':
    case 'contains':
    case '%':
      return { text: valueCondition(context, folded, comparator, operands.text) };
    case 'in':
      return {
        text: valueCondition(context, folded, comparator, operands.text),
        number: valueCondition(context, double, comparator, operands.number),
        boolean: valueCondition(context, boolean, comparator, operands.boolean),
      };
    case '=':
    case '<':
    case '<=':
    case '>':
    case '>=': {
      // A comparison with a number folds nothing.
      const wantedText = context.dialect.bound(wantedValue(context, operands.text), 'text');
      const isText = sql`${wantedText} is not null`;
      return {
        text: sql`(${isText} and ${valueCondition(context, folded, comparator, operands.text)})`,
        number: valueCondition(context, double, comparator, operands.number),
        boolean: valueCondition(context, boolean, comparator, operands.boolean),
      };
    }
  }
}

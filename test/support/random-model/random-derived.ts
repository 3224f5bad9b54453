import { writtenName } from '../../../runtime/protocol/names.js';
import type {
  AggregateAttribute,
  AliasAttribute,
  Attribute,
  ComputedAttribute,
  JsonValue,
  StorageAttribute,
  StorageType,
} from '../../../generator/model/model.js';
import type { Random } from './random.js';
import type { Draft } from './random-model.js';

/** Computes an expression from an entity's stored values, which it gets by attribute name. */
export type Compute = (stored: (name: string) => JsonValue) => JsonValue;

interface Expression {
  readonly type: StorageType;
  readonly expression: string;
  readonly compute: Compute;
}

/** Adds computed attributes over the storage attributes of the same dataclass. */
export function drawComputed(
  random: Random,
  owner: Draft,
  computes: Map<Attribute, Compute>,
): void {
  const stored = owner.attributes.filter((each) => each.kind === 'storage');
  const count = random.int(0, 2);
  for (let i = 0; i < count; i += 1) {
    const expression = expressionOver(random, stored);
    const name = owner.freeNames.pop();
    if (name === undefined) return;
    const attribute: ComputedAttribute = {
      name,
      kind: 'computed',
      type: expression.type,
      dateOnly: false,
      expression: expression.expression,
      column: name,
      accessors: [],
      exposed: random.chance(90),
    };
    owner.attributes.push(attribute);
    computes.set(attribute, expression.compute);
  }
}

function expressionOver(random: Random, all: readonly StorageAttribute[]): Expression {
  // Expressions name no decimals.
  const stored = all.filter((each) => each.type !== 'decimal');
  const strings = stored.filter((each) => each.type === 'string');
  const integers = stored.filter((each) => each.type === 'integer');
  const numbers = stored.filter((each) => each.type === 'number');
  const choices: Expression[] = [isNull(random.pick(stored))];
  if (strings.length > 0) choices.push(joined(random.pick(strings), random.pick(strings)));
  if (strings.length > 0) choices.push(orElse(random.pick(strings)));
  if (strings.length > 0) choices.push(inObject(random.pick(strings), random.pick(strings)));
  if (integers.length > 0) choices.push(plusOne(random.pick(integers)));
  if (numbers.length > 0) choices.push(half(random.pick(numbers)));
  return random.pick(choices);
}

function isNull({ name, column }: StorageAttribute): Expression {
  return {
    type: 'boolean',
    expression: `${quoted(column)} is null`,
    compute: (stored) => stored(name) === null,
  };
}

function joined(left: StorageAttribute, right: StorageAttribute): Expression {
  return {
    type: 'string',
    expression: `${quoted(left.column)} || '-É-' || ${quoted(right.column)}`,
    compute: (stored) => {
      const a = stored(left.name);
      const b = stored(right.name);
      return typeof a === 'string' && typeof b === 'string' ? `${a}-É-${b}` : null;
    },
  };
}

function orElse({ name, column }: StorageAttribute): Expression {
  return {
    type: 'string',
    expression: `coalesce(${quoted(column)}, 'none')`,
    compute: (stored) => stored(name) ?? 'none',
  };
}

function inObject(left: StorageAttribute, right: StorageAttribute): Expression {
  const [a, b] = [quoted(left.column), quoted(right.column)];
  return {
    type: 'object',
    expression: `json_object('a', ${a}, 'list', json_array(json_object('x', ${b}), 1, length(${b})))`,
    compute: (stored) => {
      const x = stored(right.name);
      const length = typeof x === 'string' ? lengthOf(x) : null;
      return { a: stored(left.name), list: [{ x }, 1, length] };
    },
  };
}

/** SQLite counts characters up to the first U+0000. */
function lengthOf(text: string): number {
  return Array.from(text.split('\0', 1)[0] ?? '').length;
}

function plusOne({ name, column }: StorageAttribute): Expression {
  return {
    type: 'integer',
    expression: `${quoted(column)} + 1`,
    compute: (stored) => plus(stored(name), 1),
  };
}

function half({ name, column }: StorageAttribute): Expression {
  return {
    type: 'number',
    expression: `${quoted(column)} * 0.5`,
    compute: (stored) => times(stored(name), 0.5),
  };
}

function plus(value: JsonValue, more: number): JsonValue {
  return typeof value === 'number' ? value + more : null;
}

function times(value: JsonValue, factor: number): JsonValue {
  return typeof value === 'number' ? value * factor + 0 : null;
}

function quoted(column: string): string {
  return `"${column.replaceAll('"', '""')}"`;
}

/** Adds aliases over one to three to-one relations; in a later round they may end in an alias. */
export function aliases(random: Random, owner: Draft, drafts: readonly Draft[]): void {
  const count = random.int(0, 2);
  for (let i = 0; i < count; i += 1) {
    const way = aliasPath(random, owner, drafts);
    const name = way === undefined ? undefined : owner.freeNames.pop();
    if (way === undefined || name === undefined) continue;
    const { path, end } = way;
    const alias: AliasAttribute = {
      name,
      kind: 'alias',
      path,
      type: end.type,
      dateOnly: end.dateOnly,
      ...(end.precision === undefined ? {} : { precision: end.precision }),
      ...(end.scale === undefined ? {} : { scale: end.scale }),
      exposed: random.chance(95),
    };
    owner.attributes.push(alias);
  }
}

const ordered: readonly StorageType[] = ['number', 'integer', 'decimal', 'duration', 'date'];

/** Adds aggregates over one to three relations, one of them to-many. Sums are exact, so those are of decimals. */
export function drawAggregates(random: Random, owner: Draft, drafts: readonly Draft[]): void {
  const count = random.int(0, 2);
  for (let i = 0; i < count; i += 1) {
    const path: string[] = [];
    let here = owner;
    let counted: Draft | undefined;
    const length = random.int(1, 3);
    for (let at = 0; at < length; at += 1) {
      const relations = here.attributes.filter(
        (each) => each.kind === 'relatedEntity' || each.kind === 'relatedEntities',
      );
      if (relations.length === 0) break;
      const relation = random.pick(relations);
      path.push(relation.name);
      here = drafts.find((each) => each.name === relation.target) ?? here;
      if (relation.kind === 'relatedEntities') counted = here;
    }
    const name = counted === undefined ? undefined : owner.freeNames.pop();
    if (name === undefined || counted === undefined) continue;
    const stored = counted.attributes.filter((each) => each.kind === 'storage');
    const filtered = random.chance(40) ? random.pick(stored).name : undefined;
    const filter = filtered === undefined ? {} : { filter: `${writtenName(filtered)} is not null` };
    const result = aggregateOver(random, here);
    const attribute = { name, kind: 'aggregate', ...filter, exposed: random.chance(95) } as const;
    const way = result.value === undefined ? path : [...path, result.value];
    owner.attributes.push({ ...attribute, ...result.typed, path: way });
  }
}

/** An aggregate of the entities of a dataclass. */
function aggregateOver(
  random: Random,
  { attributes }: Draft,
): {
  readonly typed: Pick<
    AggregateAttribute,
    'aggregate' | 'type' | 'dateOnly' | 'precision' | 'scale'
  >;
  readonly value: string | undefined;
} {
  const values = attributes.filter(
    (each) => each.kind === 'storage' && ordered.includes(each.type),
  ) as readonly StorageAttribute[];
  if (values.length === 0 || random.chance(30)) {
    return { typed: { aggregate: 'count', type: 'integer', dateOnly: false }, value: undefined };
  }
  const value = random.pick(values);
  const { name, type, dateOnly, precision = 18, scale = 0 } = value;
  if (type !== 'decimal') {
    return { typed: { aggregate: random.pick(['min', 'max']), type, dateOnly }, value: name };
  }
  const aggregate = random.pick(['sum', 'average', 'min', 'max'] as const);
  const isColumn = aggregate === 'min' || aggregate === 'max';
  const digits = isColumn
    ? { precision, scale }
    : { scale: aggregate === 'average' ? scale + 4 : scale };
  return { typed: { aggregate, type, dateOnly: false, ...digits }, value: name };
}

/** Adds aliases over one to three relations of any kind, which lead to entities. */
export function relationAliases(random: Random, owner: Draft, drafts: readonly Draft[]): void {
  const count = random.int(0, 2);
  for (let i = 0; i < count; i += 1) {
    const path: string[] = [];
    let here = owner;
    let many = false;
    const length = random.int(1, 3);
    for (let at = 0; at < length; at += 1) {
      const relations = here.attributes.filter(
        (each) => each.kind === 'relatedEntity' || each.kind === 'relatedEntities',
      );
      if (relations.length === 0) break;
      const relation = random.pick(relations);
      path.push(relation.name);
      many ||= relation.kind === 'relatedEntities';
      here = drafts.find((each) => each.name === relation.target) ?? here;
    }
    const name = path.length === 0 ? undefined : owner.freeNames.pop();
    if (name === undefined) continue;
    const exposed = here.exposed && random.chance(95);
    owner.attributes.push({ name, kind: 'relationAlias', path, target: here.name, many, exposed });
  }
}

type AliasEnd = StorageAttribute | ComputedAttribute | AliasAttribute;

function aliasPath(
  random: Random,
  owner: Draft,
  drafts: readonly Draft[],
): { readonly path: string[]; readonly end: AliasEnd } | undefined {
  const path: string[] = [];
  let here = owner;
  const length = random.int(1, 3);
  for (let i = 0; i < length; i += 1) {
    const relations = here.attributes.filter((each) => each.kind === 'relatedEntity');
    if (relations.length === 0) break;
    const relation = random.pick(relations);
    path.push(relation.name);
    here = drafts.find((each) => each.name === relation.target) ?? here;
  }
  if (path.length === 0) return undefined;
  const ends = here.attributes.filter(
    (each): each is AliasEnd =>
      (each.kind === 'storage' || each.kind === 'computed' || each.kind === 'alias') &&
      each.type !== 'image' &&
      each.type !== 'blob',
  );
  const end = random.pick(ends);
  return { path: [...path, end.name], end };
}

import { foldedColumn } from '../model/columns.js';
import { referencesTo } from '../model/lookup.js';
import {
  attributePath,
  columnOf,
  guessedAttributes,
  guessedDataclasses,
  labelOf,
  madeFor,
  pathOf,
  renamedFromLine,
  type DataclassPair,
  type ModelPair,
} from './attributes.js';
import { change, isEqual, listed, type Change } from './change.js';
import { conversionOf } from './conversions.js';
import { compareDecimals } from '../model/decimals.js';
import type {
  Attribute,
  Dataclass,
  Model,
  RelatedEntityAttribute,
  StorageAttribute,
  StorageType,
} from '../model/model.js';

/** Effects on stored data. */
export function dataChanges(models: ModelPair): readonly Change[] {
  const guessed = guessedDataclasses(models);
  const isGuessed = (dataclass: Dataclass): boolean =>
    guessed.some(({ added }) => added === dataclass);
  return [
    ...databaseChanges(models),
    ...models.dataclasses.added
      .filter((each) => !isGuessed(each))
      .map((each) =>
        change('fine', 'table-added', pathOf(each), {
          message: `${each.name} is new: the start makes its table ${each.table}.`,
          start: 'applied',
        }),
      ),
    ...models.dataclasses.removed.map((each) => removedTable(models, each)),
    ...guessed.map(({ removed, added, line }) =>
      change('look', 'dataclass-maybe-renamed', pathOf(added), {
        message: `${added.name} is new, and ${removed.name}, which is similar, was removed: without renamedFrom, ${added.name} begins without rows.`,
        help: `if ${removed.name} was renamed, write ${line}`,
        start: 'plan',
      }),
    ),
    ...models.pairs.flatMap((pair) => tableChanges(models, pair)),
  ];
}

function removedTable({ newer }: ModelPair, removed: Dataclass): Change {
  const { name, table } = removed;
  const user = newer.dataclasses.find((each) => each.table === table);
  return user === undefined
    ? change('look', 'table-unused', pathOf(removed), {
        message: `${name} was removed: its table ${table} stays with all rows, unused.`,
        start: 'applied',
      })
    : change('look', 'table-taken', pathOf(removed), {
        message: `${name} was removed, and ${user.name} uses its table ${table} with the rows in it.`,
      });
}

function databaseChanges({ older, newer }: ModelPair): readonly Change[] {
  const gone = older.databases.filter((each) => !newer.databases.includes(each));
  const [first] = newer.databases;
  const isMoved = gone.length === 0 && first !== older.databases[0];
  const words = { sqlite: 'SQLite', postgres: 'PostgreSQL' } as const;
  const moved = isMoved
    ? [
        change('look', 'database-default', 'database', {
          message: `A server without DATABASE_URL opens a database of ${words[first ?? 'sqlite']} now.`,
        }),
      ]
    : [];
  const lost = gone.map((each) =>
    change('lost', 'database-removed', 'database', {
      message: `The server no longer opens a database of ${words[each]}: its data is not moved.`,
    }),
  );
  return [...lost, ...moved];
}

function tableChanges(models: ModelPair, pair: DataclassPair): readonly Change[] {
  const { older, newer, attributes } = pair;
  return [
    ...(older.table === newer.table ? [] : [movedTable(pair)]),
    ...(older.name === newer.name ? [] : [renamedTable(pair)]),
    ...keyChanges(pair),
    ...attributes.removed.flatMap((each) => removedColumn(pair, each)),
    ...attributes.added.flatMap((each) => addedColumn(pair, each)),
    ...guessedAttributes(pair).map(({ removed, added, line }) =>
      change('look', 'attribute-maybe-renamed', attributePath(newer, added), {
        message: `${labelOf(newer, added)} is new, and ${labelOf(older, removed)} of the same type was removed${holdsValues(removed) ? ': without renamedFrom, the values stay in the old column' : ''}.`,
        help: `if it was renamed, write ${line}`,
      }),
    ),
    ...attributes.both.flatMap(([before, after]) => columnChanges(models, pair, before, after)),
    ...indexChanges(pair),
    ...auditChanges(pair),
  ];
}

/** What is recorded of changes from now on. */
function auditChanges({ older, newer, path, attributes }: DataclassPair): readonly Change[] {
  const at = `${path}.audit`;
  const [before, after] = [older.audit, newer.audit];
  if (after === undefined) {
    if (before === undefined) return [];
    const message = `Changes of ${newer.name} are no longer recorded: the entries stay in the table __audit.`;
    return [change('look', 'audit-ended', at, { message, start: 'applied' })];
  }
  const shown = after.attributes.length === 0 ? '' : `, of ${listed(after.attributes)}`;
  if (before === undefined) {
    const message = `Changes of ${newer.name} are recorded from now on${shown}.`;
    return [change('fine', 'audit-begun', at, { message, start: 'applied' })];
  }
  const now = newNamesOf(attributes);
  const former = before.attributes.map((each) => now.get(each) ?? each);
  const begun = after.attributes.filter((each) => !former.includes(each));
  const ended = former.filter((each) => !after.attributes.includes(each));
  const words = [
    ...(begun.length === 0 ? [] : [`${listed(begun)} from now on`]),
    ...(ended.length === 0 ? [] : [`no longer ${listed(ended)}`]),
  ];
  const isShorter = after.days !== undefined && after.days < (before.days ?? Infinity);
  return [
    ...(words.length === 0
      ? []
      : [
          change(ended.length === 0 ? 'fine' : 'look', 'audit-changed', at, {
            message: `Changes of ${newer.name} record ${listed(words)}.`,
            start: 'applied',
          }),
        ]),
    ...(isShorter
      ? [
          change('lost', 'audit-shortened', `${at}.days`, {
            message: `${newer.name}: recorded changes that are older than ${String(after.days)} days are deleted.`,
          }),
        ]
      : []),
  ];
}

function holdsValues(attribute: Attribute): boolean {
  return attribute.kind === 'relatedEntity' || columnOf(attribute) !== undefined;
}

function movedTable({ older, newer, path }: DataclassPair): Change {
  const message = `${newer.name} had the table ${older.table} in the older model, and has ${newer.table} now: a database with the former table needs a migration that renames it.`;
  const isChain = older.renamedFrom !== undefined && newer.renamedFrom !== undefined;
  const line = isChain ? renamedFromLine(older) : `table: ${older.table}`;
  const help = `npx drs-gen migrate writes it; to keep the table, write ${line}`;
  return change('look', 'table-changed', path, { message, help, start: 'plan' });
}

function renamedTable({ older, newer, path }: DataclassPair): Change {
  const message = `${older.name} is called ${newer.name} now: its rows stay in the table ${older.table}.`;
  return change('fine', 'dataclass-renamed', path, { message, start: 'applied' });
}

function keyChanges({ older, newer, attributes }: DataclassPair): readonly Change[] {
  const key = attributes.both.find(([before]) => before.name === older.key)?.[1];
  if (key?.name === newer.key) return [];
  const message = `The primary key of ${newer.name} was ${older.key} and is ${newer.key}: the start is refused, and relations to it hold the old keys.`;
  const path = `${pathOf(newer)}.attributes.${newer.key}`;
  return [change('lost', 'key-changed', path, { message, start: 'plan' })];
}

function removedColumn({ older, newer }: DataclassPair, attribute: Attribute): readonly Change[] {
  const column = columnOf(attribute);
  if (column === undefined) return [];
  const label = labelOf(older, attribute);
  const path = attributePath({ ...older, name: newer.name }, attribute);
  if (column.expression !== undefined) {
    const message = `${label} was removed: nothing was stored for it.`;
    return [change('fine', 'computed-removed', path, { message, start: 'applied' })];
  }
  const isTaken = newer.attributes.some((each) => columnOf(each)?.name === column.name);
  if (isTaken) {
    const message = `${label} was removed, and another attribute uses its column ${column.name} with the values in it.`;
    return [change('look', 'column-taken', path, { message })];
  }
  const message = `${label} was removed: its column ${column.name} stays with all values, unused.`;
  return [change('look', 'column-unused', path, { message, start: 'applied' })];
}

function addedColumn({ older, newer }: DataclassPair, attribute: Attribute): readonly Change[] {
  const column = columnOf(attribute);
  if (column === undefined) return [];
  const label = labelOf(newer, attribute);
  const path = attributePath(newer, attribute);
  // A generated foreign key that the newer model declares under a name of its own.
  if (older.attributes.some((each) => columnOf(each)?.name === column.name)) return [];
  if (attribute.kind !== 'storage') {
    const message = `${label} is new: the database computes it for all rows.`;
    return [change('fine', 'computed-added', path, { message, start: 'applied' })];
  }
  if (attribute.default !== undefined) {
    const message = `${label} is new: the start gives existing rows its default, ${JSON.stringify(attribute.default)}.`;
    return [change('fine', 'column-filled', path, { message, start: 'applied' })];
  }
  if (!attribute.mandatory || attribute.key) {
    const message = `${label} is new: existing rows have no value.`;
    return [change('fine', 'column-added', path, { message, start: 'applied' })];
  }
  const message = `${label} is new and mandatory, and existing rows have no value: the start is refused unless the table is empty.`;
  const help = 'give it a default, or let a migration fill it: npx drs-gen migrate';
  return [change('look', 'column-mandatory', path, { message, help, start: 'rows' })];
}

function columnChanges(
  models: ModelPair,
  pair: DataclassPair,
  before: Attribute,
  after: Attribute,
): readonly Change[] {
  const { older, newer } = pair;
  const [from, to] = [columnOf(before), columnOf(after)];
  const path = attributePath(newer, after);
  const label = labelOf(newer, after);
  if (from === undefined) return to === undefined ? [] : addedColumn(pair, after);
  if (to === undefined) return removedColumn(pair, before);
  const isMoved = from.name !== to.name && before.kind === 'storage' && after.kind === 'storage';
  const moved = isMoved ? [movedColumn(pair, before, after)] : [];
  const renamed =
    labelOf(older, before).split('.')[1] === label.split('.')[1]
      ? []
      : [
          change('fine', 'attribute-renamed', path, {
            message: `${labelOf(older, before)} is called ${label} now: its values stay in the column ${from.name}.`,
            start: 'applied',
          }),
        ];
  if (before.kind === 'storage' && after.kind === 'storage') {
    return [...moved, ...renamed, ...storageChanges(models, pair, before, after)];
  }
  return [...renamed, ...expressionChanges(pair, before, after)];
}

function movedColumn(
  { older, newer }: DataclassPair,
  before: StorageAttribute,
  after: StorageAttribute,
): Change {
  const message = `${labelOf(newer, after)} had the column ${before.column} in the older model, and has ${after.column} now: a database with the former column needs a migration that renames it.`;
  const isChain = madeFor(newer, after) !== undefined || after.renamedFrom !== undefined;
  const line = isChain ? renamedFromLine(madeFor(older, before) ?? before) : undefined;
  const help = `npx drs-gen migrate writes it; to keep the column, write ${line ?? `column: ${before.column}`}`;
  const path = attributePath(newer, after);
  return change('look', 'column-changed', path, { message, help, start: 'plan' });
}

function expressionChanges(
  { newer }: DataclassPair,
  before: Attribute,
  after: Attribute,
): readonly Change[] {
  const path = attributePath(newer, after, 'expression');
  const label = labelOf(newer, after);
  if (before.kind === 'computed' && after.kind === 'computed') {
    const key = (each: typeof before): unknown => [each.type, each.dateOnly, each.expression];
    if (isEqual(key(before), key(after))) return [];
    const message = `${label} is computed in another way: the start computes it again for all rows.`;
    return [change('fine', 'expression-changed', path, { message, start: 'applied' })];
  }
  const isStored = after.kind === 'storage';
  const message = isStored
    ? `${label} was computed and is stored now: existing rows have no value of their own.`
    : `${label} was stored and is computed now: the values that are stored would be replaced.`;
  return [change('lost', 'column-kind', attributePath(newer, after), { message, start: 'plan' })];
}

/** Rules of values: the newer rule may forbid values that the older one allowed. */
function storageChanges(
  models: ModelPair,
  pair: DataclassPair,
  before: StorageAttribute,
  after: StorageAttribute,
): readonly Change[] {
  const { newer } = pair;
  const label = labelOf(newer, after);
  const at = (key: string): string => attributePath(newer, after, key);
  const made = typeChange(models.newer, newer, before, after);
  const refused = made?.start === 'plan' ? [made] : undefined;
  if (refused !== undefined) return refused;
  const changes: Change[] = made === undefined ? [] : [made];
  const rows = (key: string, offends: string): void => {
    const message = `${label}: the start is refused while rows ${offends}.`;
    changes.push(change('look', `${key}-tightened`, at(key), { message, start: 'rows' }));
  };
  const applied = (key: string, what: string): void => {
    const message = `${label} ${what}: no row can break that.`;
    changes.push(change('fine', `${key}-loosened`, at(key), { message, start: 'applied' }));
  };
  if (!before.mandatory && after.mandatory) rows('mandatory', 'have no value');
  if (before.mandatory && !after.mandatory) applied('mandatory', 'is optional now');
  if (!before.unique && after.unique) rows('unique', 'have the same value');
  if (before.unique && !after.unique) applied('unique', 'need not be unique now');
  for (const { key, isTighter, isLooser, words } of ruleChanges(before, after)) {
    if (isTighter && key === 'pattern') {
      const message = `${label} has another pattern: stored values are not checked against it.`;
      changes.push(change('look', 'pattern-changed', at(key), { message }));
    } else if (isTighter) rows(key, `hold ${words}`);
    else if (isLooser) applied(key, `allows more (${key})`);
  }
  if (before.generated !== after.generated) {
    const isPlan = before.generated === 'sequence' || after.generated === 'sequence';
    const message = `${label} is ${after.generated === undefined ? 'no longer assigned by the server' : `assigned by the server (${after.generated})`}: existing rows keep their keys.`;
    const start = isPlan ? 'plan' : 'applied';
    changes.push(change('look', 'generated-changed', at('generated'), { message, start }));
  }
  if (!isEqual(before.default, after.default)) {
    const message = `${label} has another default: existing rows keep their values.`;
    changes.push(change('fine', 'default-changed', at('default'), { message, start: 'applied' }));
  }
  return [
    ...changes,
    ...lookupChanges(models, pair, before, after),
    ...referenceChanges(pair, before, after),
  ];
}

interface RuleChange {
  readonly key: 'enum' | 'minLength' | 'maxLength' | 'min' | 'max' | 'precision' | 'pattern';
  /** The newer rule may forbid values that were allowed. */
  readonly isTighter: boolean;
  readonly isLooser: boolean;
  /** The values that are forbidden now. */
  readonly words: string;
}

/** The rules of an attribute that differ. */
export function ruleChanges(
  before: StorageAttribute,
  after: StorageAttribute,
): readonly RuleChange[] {
  const changes: RuleChange[] = [];
  const gone = before.enum?.filter((each) => after.enum?.includes(each) === false) ?? [];
  if (!isEqual(before.enum?.toSorted(), after.enum?.toSorted()) && before.type === after.type) {
    const isNew = before.enum === undefined;
    const words = isNew
      ? 'a value that is not in the enum'
      : `one of ${gone.map((each) => JSON.stringify(each)).join(', ')}`;
    const isTighter = isNew || gone.length > 0;
    changes.push({ key: 'enum', isTighter, isLooser: !isTighter, words });
  }
  const bound = (
    key: 'minLength' | 'maxLength' | 'min' | 'max' | 'precision',
    isLower: boolean,
    words: string,
  ): void => {
    const [from, to] = [before[key], after[key]];
    if (from === to) return;
    const isTighter =
      to !== undefined &&
      (from === undefined || (isLower ? isAbove(after, to, from) : isAbove(after, from, to)));
    changes.push({ key, isTighter, isLooser: !isTighter, words: `${words} ${String(to)}` });
  };
  bound('minLength', true, 'a text with fewer characters than');
  bound('maxLength', false, 'a text with more characters than');
  bound('min', true, 'a value below');
  bound('max', false, 'a value above');
  if (before.scale === after.scale) bound('precision', false, 'a number with more digits than');
  if (before.pattern !== after.pattern) {
    const isTighter = after.pattern !== undefined;
    const words = `a text that does not match ${after.pattern ?? ''}`;
    changes.push({ key: 'pattern', isTighter, isLooser: !isTighter, words });
  }
  return changes;
}

/** Compares numbers, durations and decimals by size, dates by their text. */
function isAbove({ type }: StorageAttribute, a: number | string, b: number | string): boolean {
  if (type === 'decimal') return compareDecimals(a, b) > 0;
  return typeof a === 'number' && typeof b === 'number' ? a > b : String(a) > String(b);
}

/** Types to which every value of the first type converts without loss. */
const exact: Readonly<Partial<Record<StorageType, readonly StorageType[]>>> = {
  uuid: ['string'],
  integer: ['number', 'duration', 'string'],
  duration: ['integer', 'number', 'string'],
  number: ['string'],
  boolean: ['integer', 'number', 'string'],
  decimal: ['string'],
  date: ['string'],
  object: ['string'],
  vector: ['object', 'string'],
  image: ['blob'],
};

function typeChange(
  model: Model,
  newer: Dataclass,
  before: StorageAttribute,
  after: StorageAttribute,
): Change | undefined {
  const words = ({ type, dateOnly, dimensions, scale }: StorageAttribute): string =>
    `${dateOnly ? 'date without time' : type}${dimensions === undefined ? '' : ` of ${String(dimensions)} dimensions`}${type === 'decimal' ? ` with ${decimalWords(scale)}` : ''}`;
  const [from, to] = [words(before), words(after)];
  if (from === to) return undefined;
  const label = labelOf(newer, after);
  const path = attributePath(newer, after, before.type === after.type ? undefined : 'type');
  const isExact =
    before.type === after.type
      ? (before.dateOnly && !after.dateOnly) || holdsAll(before, after)
      : exact[before.type]?.includes(after.type) === true;
  const what = `${label} was ${article(from)} and is ${article(to)}`;
  const severity = isExact ? 'look' : 'lost';
  const code = 'type-changed';
  const loss = isExact ? '' : `; a value that is no ${to} cannot be kept`;
  if (conversionOf(before, after) === undefined) {
    const message = `${what}: values stay as they are stored${isExact ? '' : `, and one that is no ${to} cannot be read as such`}.`;
    return change(severity, code, path, { message, start: 'applied' });
  }
  // Other tables and clients hold copies of a key.
  const isKey = after.key || referenceOf(newer, after) !== undefined;
  if (isKey || referencesTo(model, newer, after.name).length > 0) {
    const message = `${what}: no migration changes the type of a key.`;
    const help = 'give it its former type, or make a new dataclass and fill it';
    return change('lost', code, path, { message, help, start: 'plan' });
  }
  const message = `${what}: a migration has to convert the values${loss}.`;
  return change(severity, code, path, { message, start: 'plan' });
}

/** Whether each value of a decimal is one of another decimal. */
function holdsAll(before: StorageAttribute, after: StorageAttribute): boolean {
  if (before.type !== 'decimal' || after.type !== 'decimal') return false;
  const [from, to] = [before, after].map(({ precision = 0, scale = 0 }) => ({
    scale,
    whole: precision - scale,
  })) as [Decimal, Decimal];
  return to.scale >= from.scale && to.whole >= from.whole;
}

interface Decimal {
  readonly scale: number;
  /** Digits before the point. */
  readonly whole: number;
}

/** `2 decimals` */
export function decimalWords(scale = 0): string {
  return scale === 1 ? '1 decimal' : `${String(scale)} decimals`;
}

function article(words: string): string {
  return `${/^[aeio]/.test(words) ? 'an' : 'a'} ${words}`;
}

/** Changes of indexes and of the folded texts that they cover. */
function lookupChanges(
  { older, newer }: ModelPair,
  pair: DataclassPair,
  before: StorageAttribute,
  after: StorageAttribute,
): readonly Change[] {
  const label = labelOf(pair.newer, after);
  const had = before.indexed || before.unique;
  const has = after.indexed || after.unique;
  const folded = [
    foldedColumn(older, pair.older, before),
    foldedColumn(newer, pair.newer, after),
  ] as const;
  // A renamed column keeps its derived columns.
  const [was, is] = [
    folded[0]?.slice(0, -before.column.length),
    folded[1]?.slice(0, -after.column.length),
  ];
  const isFoldedAnew = is !== undefined && was !== is;
  if (had === has && !isFoldedAnew) return [];
  const path = attributePath(pair.newer, after, 'indexed');
  const made = has ? 'gets an index' : 'loses its index';
  const what = had === has ? 'is looked up in another way' : made;
  const cost = isFoldedAnew ? ', and the start folds the texts of all rows' : '';
  const message = `${label} ${what}${cost}.`;
  return [change('fine', 'index-changed', path, { message, start: 'applied' })];
}

/** The relation whose foreign key an attribute is. */
function referenceOf(
  { attributes }: Dataclass,
  { name }: StorageAttribute,
): RelatedEntityAttribute | undefined {
  return attributes.find(
    (each): each is RelatedEntityAttribute =>
      each.kind === 'relatedEntity' && each.foreignKey === name,
  );
}

/** A foreign key that refers to another table. */
function referenceChanges(
  pair: DataclassPair,
  before: StorageAttribute,
  after: StorageAttribute,
): readonly Change[] {
  const relation = referenceOf(pair.newer, after);
  const former = referenceOf(pair.older, before);
  const end = (of: RelatedEntityAttribute | undefined): string | undefined =>
    of === undefined || of.onDelete === 'none'
      ? undefined
      : [of.target, ...(of.references === undefined ? [] : [of.references])].join('.');
  const [from, to] = [end(former), end(relation)];
  if (from === to) return [];
  const path = attributePath(pair.newer, relation ?? after);
  if (relation === undefined || to === undefined) {
    const message =
      relation === undefined
        ? `${labelOf(pair.newer, after)} no longer refers to anything: no row can violate that.`
        : `${labelOf(pair.newer, after)} may hold keys that no entity has: no row can violate that.`;
    return [change('fine', 'reference-removed', path, { message, start: 'applied' })];
  }
  const values = relation.references === undefined ? 'a key' : `a value of ${relation.references}`;
  const message = `${labelOf(pair.newer, after)} refers to ${to} now: the start is refused while rows hold ${values} that ${relation.target} does not have.`;
  return [change('look', 'reference-changed', path, { message, start: 'rows' })];
}

function indexChanges(pair: DataclassPair): readonly Change[] {
  const { older, newer, path, attributes } = pair;
  const now = newNamesOf(attributes);
  const listsOf = ({ indexes, uniqueIndexes = [] }: Dataclass): ReadonlySet<string> =>
    new Set(
      [...indexes, ...uniqueIndexes].map((list) =>
        list.map((each) => now.get(each) ?? each).join(', '),
      ),
    );
  const [before, after] = [listsOf(older), listsOf(newer)];
  const made = [...after].filter((each) => !before.has(each));
  const dropped = [...before].filter((each) => !after.has(each));
  const words = [
    ...(made.length === 0 ? [] : [`gets an index over ${listed(made)}`]),
    ...(dropped.length === 0 ? [] : [`loses the index over ${listed(dropped)}`]),
  ];
  const message = `${newer.name} ${listed(words)}.`;
  const at = `${path}.indexes`;
  const { tighter, looser } = uniqueChanges(pair);
  return [
    ...(words.length === 0
      ? []
      : [change('fine', 'indexes-changed', at, { message, start: 'applied' })]),
    ...tighter.map((list) =>
      change('look', 'unique-tightened', at, {
        message: `${newer.name}: the start is refused while rows have the same ${listed(list)}.`,
        start: 'rows',
      }),
    ),
    ...looser.map((list) =>
      change('fine', 'unique-loosened', at, {
        message: `${newer.name}: ${listed(list)} need not be unique together now: no row can break that.`,
        start: 'applied',
      }),
    ),
  ];
}

function newNamesOf(attributes: DataclassPair['attributes']): ReadonlyMap<string, string> {
  return new Map(attributes.both.map(([before, after]) => [before.name, after.name]));
}

/** Lists of attributes that became, or no longer are, unique together, with their new names. */
export function uniqueChanges({ older, newer, attributes }: DataclassPair): {
  readonly tighter: readonly (readonly string[])[];
  readonly looser: readonly (readonly string[])[];
} {
  const now = newNamesOf(attributes);
  const before = (older.uniqueIndexes ?? []).map((list) =>
    list.map((each) => now.get(each) ?? each),
  );
  const after = newer.uniqueIndexes ?? [];
  const isIn = (lists: readonly (readonly string[])[], list: readonly string[]): boolean =>
    lists.some((each) => isEqual(each.toSorted(), list.toSorted()));
  return {
    tighter: after.filter((each) => !isIn(before, each)),
    looser: before.filter((each) => !isIn(after, each)),
  };
}

import { child, entriesOf, textOf } from '../source/tree.js';
import { storageTypes } from '../source/vocabulary.js';
import { attributeKind } from './attribute-kind.js';
import { fold } from '../../runtime/protocol/fold.js';
import type { SourceEntry, SourceNode } from '../source/tree.js';
import type { Suggest } from './near-name.js';

/** Words that are types elsewhere: in SQL, other modelling tools and languages. */
const hints: Readonly<Record<string, readonly string[]>> = {
  'use { type: decimal, scale: 2 }, which is exact, or number (a double)': [
    'bigdecimal',
    'currency',
    'dec',
    'money',
    'numeric',
  ],
  'use number (a double)': [
    'double',
    'doubleprecision',
    'float',
    'float4',
    'float8',
    'real',
    'single',
  ],
  'use integer (53 bits)': [
    'byte',
    'int',
    'int2',
    'int32',
    'int4',
    'long',
    'mediumint',
    'short',
    'smallint',
    'tinyint',
    'word',
  ],
  'use integer (53 bits), or string for larger numbers': ['bigint', 'int64', 'int8'],
  'use { type: integer, generated: sequence }': [
    'autoincrement',
    'bigserial',
    'identity',
    'sequence',
    'serial',
  ],
  'use string': [
    'char',
    'character',
    'clob',
    'email',
    'longtext',
    'nvarchar',
    'password',
    'phone',
    'richtext',
    'str',
    'text',
    'url',
    'varchar',
  ],
  'use date, which has a day and a time': [
    'datetime',
    'datetime2',
    'instant',
    'timestamp',
    'timestamptz',
  ],
  'use { type: date, dateOnly: true }': ['dateonly', 'day', 'localdate'],
  'use duration (milliseconds, since midnight for a time of day)': [
    'interval',
    'localtime',
    'time',
    'timeofday',
    'timespan',
  ],
  'use boolean': ['bit', 'bool', 'flag', 'logical'],
  'use object (JSON)': ['dict', 'document', 'hash', 'json', 'jsonb', 'map', 'record', 'struct'],
  'use object, which may hold a list, or a to-many relation to a dataclass of the items': [
    'array',
    'collection',
    'list',
    'set',
  ],
  'use { type: string, enum: [open, closed] }': ['choice', 'enum', 'enumeration', 'select'],
  'use uuid': ['guid', 'uniqueidentifier'],
  'use { type: uuid, key: true, generated: uuid }': ['id', 'objectid'],
  'use blob': ['binary', 'buffer', 'bytea', 'bytes', 'file', 'varbinary'],
  'use image': ['photo', 'picture'],
  'use { type: vector, dimensions: 3 }': ['embedding'],
  'use { to: <dataclass> }': [
    'belongsto',
    'foreignkey',
    'manytoone',
    'onetoone',
    'ref',
    'reference',
    'relation',
  ],
  'use { to: <dataclass>, many: true, inverse: <its to-one relation> }': ['hasmany', 'onetomany'],
};

const hintOf: ReadonlyMap<string, string> = new Map(
  Object.entries(hints).flatMap(([hint, words]) => words.map((word) => [word, hint] as const)),
);

/** The type of a parameter or result that a word of another system means. */
export function functionTypeHint(text: string): string | undefined {
  const hint = hintOf.get(fold(text));
  if (hint?.includes('decimal') === true)
    return 'use decimal, which is exact, or number (a double)';
  return hint?.includes('{') === true ? undefined : hint;
}

/**
 * What to write if a text is no storage type; ignores length and precision, as in `varchar(20)`.
 */
export function typeHint(suggest: Suggest, text: string): string | undefined {
  const [, word = '', size = ''] = /^([\p{L}\p{N}_ -]+?)\s*(\(.*\))?$/u.exec(text.trim()) ?? [];
  const digits = /^\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)$/.exec(size);
  if (digits !== null && isDecimalWord(word)) {
    return `use { type: decimal, precision: ${digits[1] ?? ''}, scale: ${digits[2] ?? '0'} }`;
  }
  if (storageTypes.some((each) => each === fold(word)) && size !== '') {
    return `use { type: ${fold(word)}, maxLength: ${/\d+/.exec(size)?.[0] ?? '20'} }`;
  }
  return hintOf.get(fold(word).replace(/[ _-]/g, '')) ?? suggest(text, storageTypes);
}

function isDecimalWord(word: string): boolean {
  return ['decimal', 'numeric', 'dec', 'number'].includes(fold(word));
}

/** The dataclasses of a file by their folded names. */
export type DataclassNodes = ReadonlyMap<string, SourceEntry>;

/**
 * How to write the relation that is meant if a type names a dataclass: `Patient`, `Patient[]` or
 * `Patient.selection`. `undefined` if no dataclass is meant.
 */
export function relationHint(
  dataclasses: DataclassNodes,
  from: string,
  text: string,
): string | undefined {
  const [, written, many] = /^([\p{L}\p{N}_]+)(\[\]|\.selection)?$/u.exec(text.trim()) ?? [];
  if (written === undefined) return undefined;
  const found = dataclasses.get(fold(written));
  if (found === undefined) return undefined;
  const target = found.key.name;
  if (many === undefined) return `use { to: ${target} }`;
  return `use { to: ${target}, many: true, inverse: ${inverseIn(found.value, from) ?? `<the to-one relation of ${target} that leads here>`} }`;
}

/** The to-one relation of a dataclass that leads to another one. */
export function inverseIn(dataclass: SourceNode, to: string): string | undefined {
  return entriesOf(child(dataclass, 'attributes')).find(
    ({ value }) => attributeKind(value) === 'toOne' && textOf(child(value, 'to')) === to,
  )?.key.name;
}

/** Values that other systems compute for each row. */
const generatedByType = [
  {
    type: 'date',
    words:
      /^(?:now|today|current_?(?:date|time|timestamp)|get(?:utc)?date|sysdate|localtimestamp|utcnow|date\.now|new ?date)$/,
    hint: 'a default is one value for all entities; set the date in the event saving, with events: [saving]',
  },
  {
    type: 'uuid',
    words:
      /^(?:uuid|guid|newid|newguid|gen_?random_?uuid|uuid_?generate_?v\d|uuid_?v?\d|random_?uuid|auto|generated?)$/,
    hint: 'use generated: uuid',
  },
  {
    type: 'integer',
    words: /^(?:auto|auto_?increment|identity|next_?val|sequence|serial|generated?)$/,
    hint: 'use generated: sequence',
  },
] as const;

/** What to write for a default such as `now`, `uuid()` or `CURRENT_TIMESTAMP`. */
export function defaultHint(type: string, value: SourceNode): string | undefined {
  const text = textOf(value)?.trim().toLowerCase();
  if (text === undefined) return undefined;
  const word = text.replace(/^[=$]/, '').replace(/\(.*\)$/, '');
  const [ofDates, ...others] = generatedByType;
  const isMoment =
    type === 'date' || type === 'number' || type === 'integer' || type === 'duration';
  if (isMoment && ofDates.words.test(word)) return ofDates.hint;
  return others.find((each) => each.type === type && each.words.test(word))?.hint;
}

/** Whether a word says that an attribute is the primary key, here or in other modelling tools. */
export function isWordForKey(word: string): boolean {
  return /^(?:is)?(?:key|pk|pkey|primary|primarykey)$/.test(fold(word).replace(/[_-]/g, ''));
}

import { sql } from 'kysely';
import type { ColumnDefinition } from '../dataclass/attribute-path.js';
import { column, keyColumn, type Source } from '../dataclass/source.js';
import type { JsonPart, Sql } from '../dialect/dialect.js';
import { ifNumber, jsonBangDate, jsonBoolean } from '../dialect/json-parts.js';
import type { StorageDefinition } from '../protocol/definition.js';
import type { QueryContext } from './context.js';

/** The JSON of a column's value (protocol P4.4 to P4.14). */
export function valueJson(
  context: QueryContext,
  source: Source,
  attribute: ColumnDefinition,
  value = column(source, attribute.column),
): readonly JsonPart[] {
  const { dialect, options } = context;
  const { type } = attribute;
  if (type === 'image' || type === 'blob')
    return [deferredMedia(context, source, attribute, value)];
  if (type === 'decimal') return decimalJson(context, attribute, value);
  const isExpression = attribute.kind === 'expression';
  if (type === 'object' || type === 'vector') {
    return [isExpression ? dialect.jsonIfJson(value) : dialect.jsonRaw(value)];
  }
  if (isExpression || type === 'string' || type === 'boolean') {
    return [scalarJson(context, attribute, value)];
  }
  if (type === 'uuid' || type === 'date') {
    const isBang = attribute.dateOnly === true && options.dateOnlyFormat === 'bang';
    // Neither contains anything that JSON would escape.
    return isNeverNull(attribute) && !isBang
      ? ['"', value, '"']
      : [scalarJson(context, attribute, value)];
  }
  if (type === 'number') return [dialect.jsonReal(value)];
  if (attribute.key === true) return [keyNumber(context, attribute, value)];
  return [isNeverNull(attribute) ? value : dialect.jsonRaw(value)];
}

/** Contains nothing that JSON would escape. */
function decimalJson(
  context: QueryContext,
  attribute: ColumnDefinition,
  value: Sql,
): readonly JsonPart[] {
  return isNeverNull(attribute)
    ? ['"', context.dialect.decimalText(value, scaleOf(attribute)), '"']
    : [scalarJson(context, attribute, value)];
}

/** Decimals of an attribute's values. */
export function scaleOf(attribute: ScalarForm): number {
  return ('scale' in attribute ? attribute.scale : undefined) ?? 0;
}

function isNeverNull(attribute: ColumnDefinition): boolean {
  return attribute.kind === 'storage' && (attribute.mandatory === true || attribute.key === true);
}

/** The address of the bytes, instead of the bytes; `null` if there are none. */
function deferredMedia(
  context: QueryContext,
  source: Source,
  attribute: ColumnDefinition,
  value: Sql,
): JsonPart {
  const name = encodeURIComponent(attribute.name);
  const uri: readonly JsonPart[] = [...entityUri(context, source), `/${name}?`];
  const deferred =
    attribute.type === 'image'
      ? [
          '{"__deferred":{"uri":"',
          ...uri,
          '$imageformat=best&$version=',
          column(source, '__STAMP'),
          `&$expand=${name}","image":true}}`,
        ]
      : ['{"__deferred":{"uri":"', ...uri, `$binary=true&$expand=${name}"}}`];
  return { isNull: sql`${value} is null`, parts: deferred };
}

/** `/rest/Company(7)`, escaped for a JSON string. */
export function entityUri(context: QueryContext, source: Source): readonly JsonPart[] {
  return keyedUri(context, source.dataclass.name, source.dataclass.key, keyColumn(source));
}

/** `/rest/<dataClass>(<key>)` for the key in `value`. */
export function keyedUri(
  context: QueryContext,
  dataclass: string,
  key: StorageDefinition,
  value: Sql,
): readonly JsonPart[] {
  const text = key.type === 'string' ? sql`drs_uri(${value})` : keyNumber(context, key, value);
  return [`/rest/${encodeURIComponent(dataclass)}(`, text, ')'];
}

/** A key in the form of `__KEY`: always a JSON string. */
export function keyJson(
  context: QueryContext,
  key: StorageDefinition,
  value: Sql,
): readonly JsonPart[] {
  // Numbers and uuids contain nothing that JSON would escape.
  return key.type === 'string'
    ? [context.dialect.jsonText(value)]
    : ['"', keyNumber(context, key, value), '"'];
}

/** A key that is no text, which is never null. Databases write numbers in different ways. */
export function keyNumber(
  { dialect }: QueryContext,
  { type }: Pick<StorageDefinition, 'type'>,
  value: Sql,
): JsonPart {
  if (type === 'number') return dialect.jsonReal(value);
  return type === 'integer' ? { integer: value } : value;
}

/** What decides the form of a value. */
type ScalarForm = Pick<ColumnDefinition, 'type' | 'dateOnly'> & { readonly scale?: number };

/** JSON of a value that is no longer a column, in its form in an entity (protocol P4.4 to P4.8). */
export function scalarJson(
  { dialect, options }: QueryContext,
  attribute: ScalarForm,
  value: Sql,
): Sql {
  const { type, dateOnly } = attribute;
  switch (type) {
    case 'string':
    case 'uuid':
      return dialect.jsonText(value);
    case 'date':
      return dateOnly === true && options.dateOnlyFormat === 'bang'
        ? jsonBangDate(value)
        : dialect.jsonText(value);
    case 'decimal':
      return dialect.jsonText(dialect.decimalText(value, scaleOf(attribute)));
    case 'boolean':
      return jsonBoolean(value);
    case 'number':
      return dialect.jsonReal(value);
    case 'integer':
    case 'duration':
      return dialect.jsonRaw(ifNumber(value));
    case 'object':
    case 'image':
    case 'blob':
    case 'vector':
      throw new Error(`A value of the type ${type} is no scalar.`);
  }
}

import { sql } from 'kysely';
import type { ColumnDefinition } from '../dataclass/attribute-path.js';
import type { Source } from '../dataclass/dataclasses.js';
import { shownAggregate } from '../dataclass/comparable.js';
import { column, keyColumn } from '../dataclass/source.js';
import type { Json, JsonPart, Sql } from '../dialect/dialect.js';
import { ifNumber, jsonBangDate, jsonBoolean } from '../dialect/json-parts.js';
import type { AggregateDefinition, StorageDefinition } from '../protocol/definition.js';
import type { ValueJson } from '../protocol/queries.js';
import type { QueryContext } from './context.js';

/** The JSON of an attribute's value (protocol P4.4 to P4.14). */
export function valueJson(
  context: QueryContext,
  source: Source,
  attribute: ColumnDefinition,
): Json {
  if (attribute.kind === 'aggregate') {
    const { from, value } = shownAggregate(context.dialect, source, attribute);
    return [{ from, json: [aggregateJson(context, attribute, value)] }];
  }
  const { dialect, options } = context;
  const value = column(source, attribute.column);
  const { type } = attribute;
  const isExpression = attribute.kind === 'expression';
  const text = (of: Sql): ValueJson => {
    if (isNeverNull(attribute) && type !== 'string') return quotedJson(of);
    const json = [dialect.jsonText(of)];
    return { value: isExpression ? sql`cast(${of} as text)` : of, type: 'text', json };
  };
  switch (type) {
    case 'image':
    case 'blob':
      return [deferredMedia(context, source, attribute, value)];
    case 'object':
    case 'vector':
      return [isExpression ? dialect.jsonIfJson(value) : dialect.jsonRaw(value)];
    case 'string':
      return [text(value)];
    case 'boolean':
      return [{ value, type: 'boolean', json: [jsonBoolean(value)] }];
    case 'uuid':
      return [text(value)];
    case 'date':
      if (attribute.dateOnly === true && options.dateOnlyFormat === 'bang') {
        return [{ short: [jsonBangDate(value)] }];
      }
      return [text(value)];
    case 'decimal':
      return [text(dialect.decimalText(value, scaleOf(attribute)))];
    case 'number':
      return [realJson(context, value)];
    case 'integer':
    case 'duration': {
      if (attribute.kind === 'storage' && attribute.key === true)
        return [keyNumber(context, attribute, value)];
      const number = isExpression ? ifNumber(value) : value;
      const json = isNeverNull(attribute) ? number : dialect.jsonRaw(number);
      return [{ value: number, type: 'number', json: [json] }];
    }
  }
}

/** An aggregate's value, as {@link shownAggregate} returns it. */
export function aggregateJson(
  context: QueryContext,
  attribute: AggregateDefinition,
  value: Sql,
): JsonPart {
  const { type } = attribute;
  if (type === 'number') return realJson(context, value);
  if (type === 'decimal') return { value, type: 'text', json: [context.dialect.jsonText(value)] };
  const json = scalarJson(context, attribute, value);
  if (type === 'integer' || type === 'duration') {
    return { value: ifNumber(value), type: 'number', json: [json] };
  }
  if (type === 'boolean') return { value, type, json: [json] };
  const isBang = type === 'date' && context.options.dateOnlyFormat === 'bang';
  return isBang && attribute.dateOnly === true
    ? { short: [json] }
    : { value, type: 'text', json: [json] };
}

/** A text that is never null and contains nothing that JSON would escape. */
export function quotedJson(value: Sql): ValueJson {
  return { value, type: 'text', json: ['"', value, '"'] };
}

function realJson({ dialect }: QueryContext, value: Sql): ValueJson {
  return { value, type: 'real', json: [dialect.jsonReal(value)] };
}

/** Decimals of an attribute's values. */
export function scaleOf(attribute: ScalarColumn): number {
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
  const uri: Json = [...entityUri(context, source), `/${name}?`];
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
  return { isNull: sql`${value} is null`, parts: [{ short: deferred }] };
}

/** `/rest/Company(7)`, escaped for a JSON string. */
export function entityUri(context: QueryContext, source: Source): Json {
  return keyedUri(context, source.dataclass.name, source.dataclass.key, keyColumn(source));
}

/** `/rest/<dataClass>(<key>)` for the key in `value`. */
export function keyedUri(
  context: QueryContext,
  dataclass: string,
  key: StorageDefinition,
  value: Sql,
): Json {
  const text = key.type === 'string' ? sql`drs_uri(${value})` : keyNumber(context, key, value);
  return [`/rest/${encodeURIComponent(dataclass)}(`, text, ')'];
}

/** A key in the form of `__KEY`: always a JSON string. */
export function keyJson(context: QueryContext, key: StorageDefinition, value: Sql): Json {
  const { dialect } = context;
  if (key.type === 'string') return [{ value, type: 'text', json: [dialect.jsonText(value)] }];
  // Numbers and uuids contain nothing that JSON would escape.
  const json = ['"', keyNumber(context, key, value), '"'];
  if (key.type === 'number') return [{ value: dialect.jsonReal(value), type: 'text', json }];
  return [{ value: key.type === 'uuid' ? value : sql`cast(${value} as text)`, type: 'text', json }];
}

/** A key that is no text, which is never null. Databases write numbers in different ways. */
export function keyNumber(
  context: QueryContext,
  { type }: Pick<StorageDefinition, 'type'>,
  value: Sql,
): JsonPart {
  if (type === 'number') return realJson(context, value);
  return type === 'integer' ? { integer: value } : value;
}

/** What decides how a value is written. */
type ScalarColumn = Pick<ColumnDefinition, 'type' | 'dateOnly'> & { readonly scale?: number };

/** JSON of a value that is no longer a column, as an entity has it (protocol P4.4 to P4.8). */
export function scalarJson(
  { dialect, options }: QueryContext,
  attribute: ScalarColumn,
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

import type { JsonObject } from '../../../runtime/protocol/opened-document.js';
import type {
  Attribute,
  FunctionType,
  Model,
  StorageAttribute,
  StorageType,
} from '../../model/model.js';
import {
  anyOf,
  boolean,
  dataclassRef,
  integer,
  listOf,
  nothing,
  sharedRef,
  text,
} from './shared-schemas.js';

/** What a value must comply with. */
type ValueRules = Partial<
  Pick<
    StorageAttribute,
    | 'dimensions'
    | 'enum'
    | 'max'
    | 'maxLength'
    | 'min'
    | 'minLength'
    | 'pattern'
    | 'precision'
    | 'scale'
  >
>;

/** An attribute that is no relation. */
type ValueAttribute = Exclude<Attribute, { readonly target: string }>;

/** The value of an attribute in an answer. */
export function valueInAnswer(model: Model, attribute: ValueAttribute): JsonObject {
  return answered(attribute.type, dayFormat(model, attribute), attribute);
}

/** The value of an attribute in a body, as the protocol writes it; other spellings are accepted, too. */
export function valueInBody(model: Model, attribute: ValueAttribute): JsonObject {
  const { type } = attribute;
  if (type === 'image' || type === 'blob') return sharedRef('UploadReference');
  if (type === 'uuid') return text;
  const rules: ValueRules = attribute;
  if (type === 'decimal') return sentDecimal(rules);
  const { min, max, minLength, maxLength, pattern, dimensions } = rules;
  const ends = [
    ...(typeof min === 'string' ? [`not before ${min}`] : []),
    ...(typeof max === 'string' ? [`not after ${max}`] : []),
  ];
  return {
    ...answered(type, dayFormat(model, attribute), rules),
    ...(typeof min === 'number' ? { minimum: min } : {}),
    ...(typeof max === 'number' ? { maximum: max } : {}),
    ...(minLength === undefined ? {} : { minLength }),
    ...(maxLength === undefined ? {} : { maxLength }),
    ...(pattern === undefined ? {} : { pattern }),
    ...(dimensions === undefined ? {} : { minItems: dimensions, maxItems: dimensions }),
    ...(ends.length === 0 ? {} : { description: `A date ${ends.join(' and ')}.` }),
  };
}

function dayFormat({ protocol }: Model, { dateOnly }: ValueAttribute): 'iso' | 'bang' | undefined {
  return dateOnly ? protocol.dateOnlyFormat : undefined;
}

/** A value in an answer (protocol P4.4 to P4.14). */
function answered(
  type: StorageType,
  dateOnly: 'iso' | 'bang' | undefined,
  rules: ValueRules = {},
): JsonObject {
  const listed = rules.enum === undefined ? {} : { enum: rules.enum };
  switch (type) {
    case 'string':
      return { ...text, ...listed };
    case 'uuid':
      return { ...text, pattern: '^[0-9A-F]{32}$', ...listed };
    case 'number':
      return { type: 'number', ...listed };
    case 'integer':
      return { ...integer, ...listed };
    case 'decimal':
      return { ...text, pattern: decimalPattern(rules), ...listed };
    case 'duration':
      return { ...integer, description: 'Milliseconds.', ...listed };
    case 'boolean':
      return boolean;
    case 'date':
      return { ...dateSchema(dateOnly), ...listed };
    case 'object':
      return { type: ['object', 'array'] };
    case 'vector':
      return listOf({ type: 'number' });
    case 'image':
      return sharedRef('DeferredImage');
    case 'blob':
      return sharedRef('Deferred');
  }
}

/** The pattern of a decimal; without rules, that of a function's argument or result. */
function decimalPattern({ precision, scale }: ValueRules): string {
  if (precision === undefined || scale === undefined) return '^-?\\d+(\\.\\d+)?$';
  const whole = precision > scale ? `\\d{1,${precision - scale}}` : '0';
  return scale === 0 ? `^-?${whole}$` : `^-?${whole}\\.\\d{${scale}}$`;
}

/** More spellings than in an answer, and numbers. */
function sentDecimal({ precision, scale = 0 }: ValueRules): JsonObject {
  const digits =
    precision === undefined ? '' : ` of at most ${precision} digits, ${scale} of them decimals`;
  return { type: ['string', 'number'], description: `A decimal number${digits}.` };
}

function dateSchema(dateOnly: 'iso' | 'bang' | undefined): JsonObject {
  if (dateOnly === undefined) return { ...text, format: 'date-time' };
  return dateOnly === 'iso'
    ? { ...text, format: 'date' }
    : { ...text, pattern: '^\\d+!\\d+!\\d+$', description: 'Day, month and year: 9!3!2026.' };
}

export function nullable(schema: JsonObject): JsonObject {
  const { type, enum: values } = schema;
  const types = [type ?? []].flat();
  if (types.length === 0) return anyOf(nothing, schema);
  return {
    ...schema,
    type: [...types.filter((each) => each !== 'null'), 'null'],
    ...(values === undefined ? {} : { enum: [values, null].flat() }),
  };
}

/** An argument (protocol P11.7 to P11.11). */
export function argumentInBody(type: FunctionType): JsonObject {
  switch (type.kind) {
    case 'any':
    case 'void':
    case 'message':
      return {};
    case 'entity':
      return sharedRef('EntityArgument');
    case 'selection':
      return sharedRef('SelectionArgument');
    case 'list':
      return listOf(argumentInBody(type.of));
    case 'storage':
      if (isMedia(type)) return sharedRef('UploadReference');
      if (type.type === 'uuid') return text;
      return type.type === 'decimal' ? sentDecimal({}) : answered(type.type, dayOf(type));
  }
}

/** A plain result of a function, or a part of one (protocol P11.15 to P11.22). */
export function result(type: FunctionType, isMandatory: boolean): JsonObject {
  const schema = resultSchema(type, isMandatory);
  return isMandatory || Object.keys(schema).length === 0 ? schema : nullable(schema);
}

function resultSchema(type: FunctionType, isMandatory: boolean): JsonObject {
  switch (type.kind) {
    case 'any':
    case 'message':
    case 'selection':
      return {};
    case 'void':
      return nothing;
    case 'entity':
      return returned(type.dataclass, 'Draft');
    case 'list':
      return listOf(result(type.of, isMandatory));
    case 'storage':
      if (type.type === 'uuid') return text;
      return type.type === 'object' || isMedia(type) ? {} : answered(type.type, dayOf(type));
  }
}

/** Entities that a function returns, of which a reader who may not read them learns nothing. */
export function returned(dataclass: string, part: 'Draft' | 'Page'): JsonObject {
  return { ...dataclassRef({ name: dataclass }, part), 'x-type-for': `read ${dataclass}` };
}

function dayOf({ dateOnly }: { readonly dateOnly?: true }): 'iso' | undefined {
  return dateOnly === true ? 'iso' : undefined;
}

/** Whether values are images or BLOBs, which travel as bytes of their own. */
export function isMedia(type: FunctionType | Attribute): boolean {
  return 'type' in type && (type.type === 'image' || type.type === 'blob');
}

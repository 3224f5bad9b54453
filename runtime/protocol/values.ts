import { dayFromText, instantFromText } from './dates.js';
import { decimalValue } from './decimal.js';
import type { ComputedDefinition, StorageDefinition } from './definition.js';
import { type JsonProblem, jsonProblem, loneSurrogate } from './json-problem.js';
import { integerFromText, isTiny, numberFromText, RoundedNumber } from './numbers.js';
import { normaliseUuid } from './uuid.js';
import type { ErrorName } from './errors.js';
import { isWellFormed } from './own-text.js';

/**
 * What the database holds: booleans are 0 and 1, dates ISO text, objects and vectors JSON text, images
 * and BLOBs bytes. A decimal is a text with as many decimals as its scale; the dialect turns it into
 * the form of its column.
 */
export type StoredValue = string | number | Uint8Array | null;

export type ValueResult = AcceptedValue | RefusedValue;

interface AcceptedValue {
  readonly ok: true;
  readonly value: StoredValue;
}

interface RefusedValue {
  readonly ok: false;
  /** Predicate of a sentence that begins with the attribute's name: `must be a whole number`. */
  readonly message: string;
  /**
   * Not a value of any attribute, such as a text that is not Unicode: the whole body is at fault
   * (400).
   */
  readonly malformed: boolean;
  /** The error of the protocol, if there is a specific one. */
  readonly error?: ErrorName;
}

/**
 * The stored form of an attribute's value in a JSON body (protocol P4.4 to P4.14). Null is accepted
 * for every type; `checkRules` checks the model's rules.
 *
 * Numbers may come as text (`"309"`), booleans as `"true"` and `"false"`, an empty text is a null
 * date. Texts are kept unchanged.
 */
export function storedValue(definition: StorageDefinition, json: unknown): ValueResult {
  if (json === null) return nothing;
  switch (definition.type) {
    case 'string':
      return stringValue(json);
    case 'uuid':
      return fromText(json, normaliseUuid, notUuid);
    case 'number':
      return numberValue(json);
    case 'integer':
      return integerValue(json, notInteger);
    case 'decimal': {
      const result = decimalValue(json, definition);
      return 'problem' in result ? refused(result.problem) : accepted(result.value);
    }
    case 'duration':
      return integerValue(json, notDuration);
    case 'boolean':
      return booleanValue(json);
    case 'date':
      if (json === '') return nothing;
      return definition.dateOnly === true
        ? fromText(json, dayFromText, notDay)
        : fromText(json, instantFromText, notDate);
    case 'object':
      return objectValue(json);
    case 'vector':
      return vectorValue(json, definition.dimensions);
    case 'image':
    case 'blob':
      return mediaValue(json);
  }
}

/** How to check the values of an attribute that class code computes: by its type only. */
export function storageOf(definition: ComputedDefinition): StorageDefinition {
  const { name, type, dateOnly, precision, scale } = definition;
  const ofDate = dateOnly === true ? { dateOnly } : {};
  const ofDecimal = precision === undefined || scale === undefined ? {} : { precision, scale };
  return { kind: 'storage', name, type, column: name, ...ofDate, ...ofDecimal };
}

function accepted(value: string | number | Uint8Array): AcceptedValue {
  return { ok: true, value };
}

function refused(message: string): RefusedValue {
  return { ok: false, message, malformed: false };
}

const nothing: AcceptedValue = { ok: true, value: null };
const notText = refused('must be a text');
const notUuid = refused('must be a UUID: 32 hexadecimal digits, with or without dashes');
const notNumber = refused('must be a number');
const hugeNumber = refused('must be a number that is not too large to be kept: at most 1.8e308');
const tinyNumber = refused('must be 0, or a number that is not too near to 0 to be kept: 5e-324');
const notInteger = refused('must be a whole number between -(2^53 - 1) and 2^53 - 1');
const notDuration = refused('must be a whole number of milliseconds');
const notBoolean = refused('must be true or false');
const notDate = refused('must be a date such as 2026-03-09T14:25:36Z, of the years 0000 to 9999');
const notDay = refused('must be a date such as 2026-03-09 or 9!3!2026');
const notObject = refused('must be a JSON object or array');
const notVector = refused('must be an array of numbers');
const hugeInVector = refused(
  'must be an array of numbers that are not too large to be kept: at most 1.8e308',
);
const notUpload = refused(
  'must be null, or {"ID": "…"} with the ID that an upload was answered with',
);

function stringValue(json: unknown): ValueResult {
  if (typeof json !== 'string') return notText;
  return isWellFormed(json) ? accepted(json) : refusedFor(loneSurrogate);
}

function fromText(
  json: unknown,
  read: (text: string) => string | undefined,
  refusal: RefusedValue,
): ValueResult {
  const value = typeof json === 'string' ? read(json) : undefined;
  return value === undefined ? refusal : accepted(value);
}

function numberValue(json: unknown): ValueResult {
  const text = json instanceof RoundedNumber ? json.text : json;
  const value = typeof text === 'string' ? numberFromText(text) : text;
  if (typeof value !== 'number') return notNumber;
  if (value === 0 && typeof text === 'string' && isTiny(text)) return tinyNumber;
  // Adding 0 turns -0, which a database does not store, into 0.
  if (Number.isFinite(value)) return accepted(value + 0);
  return isInfinite(value) ? hugeNumber : notNumber;
}

/** JSON numbers beyond a double become infinite. */
function isInfinite(value: unknown): boolean {
  return value === Infinity || value === -Infinity;
}

function integerValue(json: unknown, refusal: RefusedValue): ValueResult {
  const value = typeof json === 'string' ? integerFromText(json) : json;
  return typeof value === 'number' && Number.isSafeInteger(value) ? accepted(value + 0) : refusal;
}

function booleanValue(json: unknown): ValueResult {
  if (json === true || json === 'true') return accepted(1);
  if (json === false || json === 'false') return accepted(0);
  return notBoolean;
}

function objectValue(json: unknown): ValueResult {
  if (typeof json !== 'object' || json instanceof RoundedNumber) return notObject;
  const problem = jsonProblem(json);
  return problem === undefined ? accepted(JSON.stringify(json)) : refusedFor(problem);
}

function vectorValue(json: unknown, dimensions: number | undefined): ValueResult {
  if (!Array.isArray(json)) return notVector;
  if (dimensions !== undefined && json.length !== dimensions) {
    return refused(`must be an array of ${dimensions} numbers`);
  }
  for (const item of json) {
    if (Number.isFinite(item) || (item instanceof RoundedNumber && !item.isTiny)) continue;
    return isInfinite(item) ? hugeInVector : notVector;
  }
  return accepted(JSON.stringify(json));
}

/** Uploads that the body names were resolved before: the body contains their bytes. */
function mediaValue(json: unknown): ValueResult {
  if (json instanceof Uint8Array) return accepted(json);
  if (!(json instanceof UnusableUpload)) return notUpload;
  return { ok: false, message: json.message, malformed: false, error: json.error };
}

function refusedFor({ message, malformed }: JsonProblem): RefusedValue {
  return { ok: false, message, malformed };
}

/**
 * Replaces an upload in a body that cannot be applied; bytes replace one that can. JSON contains
 * neither, so neither can be forged.
 */
export class UnusableUpload {
  constructor(
    readonly error: ErrorName,
    /** Predicate of a sentence that begins with the attribute's name. */
    readonly message: string,
  ) {}
}

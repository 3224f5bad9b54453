import type {
  FunctionDefinition,
  FunctionType,
  ParameterDefinition,
} from '../../protocol/definition.js';
import type { StorageType } from '../../protocol/storage-type.js';
import { refuse, type RequestError } from '../../protocol/errors.js';
import { dayFromText, instantFromText } from '../../protocol/dates.js';
import { plainDecimal } from '../../protocol/decimal.js';
import { jsonProblem, withDoubles } from '../../protocol/json-problem.js';
import { normaliseUuid } from '../../protocol/uuid.js';
import { isWellFormed } from '../../protocol/own-text.js';

/** Makes the arguments of class code for an entity, an entity selection or a file. */
export interface ArgumentMakers {
  entity(dataclass: string, json: Readonly<Record<string, unknown>>, at: Place): Promise<object>;
  selection(dataclass: string, json: Readonly<Record<string, unknown>>, at: Place): Promise<object>;
  media(
    type: 'image' | 'blob',
    json: Readonly<Record<string, unknown>>,
    at: Place,
  ): Promise<object>;
}

/** The place of a value: a parameter of a function, or an item of its list. */
export class Place {
  constructor(
    private readonly functionName: string,
    private readonly parameter: string,
  ) {}

  item(index: number): Place {
    return new Place(this.functionName, `${this.parameter}[${index}]`);
  }

  /** A message about something inside the value. */
  said(message: string): string {
    return `The parameter "${this.parameter}" of ${this.functionName}: ${message}`;
  }

  /**
   * @param predicate of the sentence that begins with the parameter
   * @returns 400 with 1843
   */
  refusal(predicate: string): RequestError {
    return refuse(
      'wrongArgument',
      `The parameter "${this.parameter}" of ${this.functionName} ${predicate}.`,
    );
  }
}

/**
 * Turns what a client sent into the arguments that class code declares (protocol P11.7), as many as
 * were sent. An optional parameter that is null is `undefined`.
 * @param areExact whether the function gets everything that was sent (protocol P14.4): null as
 * null, and arguments without a parameter
 * @throws RequestError 400 with 1843 that names the parameter
 */
export async function decodeArguments(
  { name, params }: Pick<FunctionDefinition, 'name' | 'params'>,
  sent: readonly unknown[],
  makers: ArgumentMakers,
  areExact = false,
): Promise<readonly unknown[]> {
  if (sent.length > params.length && !areExact) throw tooMany(name, params, sent.length);
  const decoded: unknown[] = [];
  for (const [index, parameter] of params.entries()) {
    const place = new Place(name, parameter.name);
    const json = sent[index];
    if (index >= sent.length) {
      if (parameter.optional !== true) throw place.refusal('is missing');
    } else if (areExact && json === null && parameter.type === 'any') {
      decoded.push(null);
    } else {
      decoded.push(await argument(place, parameter, json, makers));
    }
  }
  for (const [index, json] of sent.slice(params.length).entries()) {
    const place = new Place(name, String(params.length + index + 1));
    decoded.push(json === null ? null : scalar(place, 'any', json));
  }
  return decoded;
}

async function argument(
  place: Place,
  { type, optional }: ParameterDefinition,
  json: unknown,
  makers: ArgumentMakers,
): Promise<unknown> {
  if (json === null) {
    if (optional === true) return undefined;
    // Null is a JSON value like any other.
    if (type === 'any') return null;
    throw place.refusal('must not be null');
  }
  return decode(place, type, json, makers);
}

async function decode(
  place: Place,
  type: FunctionType,
  json: unknown,
  makers: ArgumentMakers,
): Promise<unknown> {
  if (type === 'image' || type === 'blob') return makers.media(type, object(place, json), place);
  if (typeof type === 'string') return scalar(place, type as ScalarType, json);
  if ('list' in type) return list(place, type.list, json, makers);
  if ('entity' in type) return makers.entity(type.entity, object(place, json), place);
  return makers.selection(type.selection, object(place, json), place);
}

async function list(
  place: Place,
  type: FunctionType,
  json: unknown,
  makers: ArgumentMakers,
): Promise<readonly unknown[]> {
  if (!Array.isArray(json)) throw place.refusal('must be a list');
  const isScalar = typeof type === 'string' && type !== 'image' && type !== 'blob';
  const items: unknown[] = [];
  for (const [index, item] of (json as readonly unknown[]).entries()) {
    const at = place.item(index);
    if (item === null && type !== 'any') throw at.refusal('must not be null');
    if (item === null) items.push(null);
    else if (isScalar) items.push(scalar(at, type as ScalarType, item));
    else items.push(await decode(at, type, item, makers));
  }
  return items;
}

function object(place: Place, json: unknown): Readonly<Record<string, unknown>> {
  if (typeof json === 'object' && json !== null && !Array.isArray(json)) {
    return json as Readonly<Record<string, unknown>>;
  }
  throw place.refusal('must be a JSON object');
}

function tooMany(name: string, params: readonly ParameterDefinition[], sent: number): RequestError {
  const names = params.map((each) => each.name).join(', ');
  return refuse(
    'wrongArgument',
    `${name} takes ${params.length === 0 ? 'no parameters' : `${params.length} at most (${names})`}, and ${sent} were sent.`,
  );
}

/** Types whose arguments are JSON values, which need no context. */
type ScalarType = Exclude<StorageType, 'image' | 'blob'> | 'dateOnly' | 'any';

/** Class code gets their numbers as doubles. */
const holdsDoubles: ReadonlySet<ScalarType> = new Set(['number', 'vector', 'object', 'any']);

const notDecimal =
  'must be a decimal number of at most 18 digits, as a text such as "12.50", or as a number of at most 15 digits';

/**
 * An argument as class code gets it (protocol P11.7, P11.8). A date becomes a `Date`, a day a text
 * `YYYY-MM-DD`, a decimal a text. Types are JSON's own: unlike in an entity, a text with digits is not a number.
 * @param sent not null
 */
function scalar(place: Place, type: ScalarType, sent: unknown): unknown {
  const json = holdsDoubles.has(type) ? withDoubles(sent) : sent;
  const only = (isRight: boolean, message: string): unknown => {
    if (isRight) return json;
    throw place.refusal(message);
  };
  const fromText = (read: (text: string) => unknown, message: string): unknown => {
    const value = typeof json === 'string' ? read(json) : undefined;
    return value === undefined ? only(false, message) : value;
  };
  switch (type) {
    case 'string':
      if (typeof json !== 'string') return only(false, 'must be a text');
      return only(isWellFormed(json), 'holds half of a surrogate pair');
    case 'uuid':
      return fromText(normaliseUuid, 'must be a UUID, as a text of 32 hexadecimal digits');
    case 'number':
      return only(Number.isFinite(json), 'must be a number');
    case 'integer':
      return only(
        Number.isSafeInteger(json),
        'must be a whole number between -(2^53 - 1) and 2^53 - 1',
      );
    case 'decimal':
      return plainDecimal(json) ?? only(false, notDecimal);
    case 'duration':
      return only(Number.isSafeInteger(json), 'must be a whole number of milliseconds');
    case 'boolean':
      return only(typeof json === 'boolean', 'must be true or false');
    case 'date':
      return fromText((text) => {
        const instant = instantFromText(text);
        return instant === undefined ? undefined : new Date(instant);
      }, 'must be a date, as a text such as 2026-03-09T14:25:36Z');
    case 'dateOnly':
      return fromText(dayFromText, 'must be a date, as a text such as 2026-03-09');
    case 'vector':
      return only(
        Array.isArray(json) && json.every((each) => Number.isFinite(each)),
        'must be an array of numbers',
      );
    case 'object':
    case 'any': {
      if (type === 'object') only(typeof json === 'object', 'must be a JSON object or array');
      const problem = jsonProblem(json);
      return only(problem === undefined, problem?.message ?? '');
    }
  }
}

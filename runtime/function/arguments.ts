import type {
  FunctionDefinition,
  FunctionType,
  ParameterDefinition,
} from '../protocol/definition.js';
import { refuse, type RequestError } from '../protocol/errors.js';
import { type ScalarType, scalarArgument } from './scalar-argument.js';

/** Makes what class code gets for an entity, an entity selection or a file. */
export interface ArgumentMakers {
  entity(dataclass: string, json: Readonly<Record<string, unknown>>, at: Place): Promise<object>;
  selection(dataclass: string, json: Readonly<Record<string, unknown>>, at: Place): Promise<object>;
  media(type: 'image' | 'blob', json: Readonly<Record<string, unknown>>, at: Place): object;
}

/** Where a value stands: a parameter of a function, or an item of its list. */
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
 * Turns what a client sent into the arguments that class code declares (protocol decision 30), as many as were sent. An optional
 * parameter that is null is `undefined`.
 * @throws RequestError 400 with 1843 that names the parameter
 */
export async function decodeArguments(
  { name, params }: Pick<FunctionDefinition, 'name' | 'params'>,
  sent: readonly unknown[],
  makers: ArgumentMakers,
): Promise<readonly unknown[]> {
  if (sent.length > params.length) throw tooMany(name, params, sent.length);
  const decoded: unknown[] = [];
  for (const [index, parameter] of params.entries()) {
    const place = new Place(name, parameter.name);
    if (index < sent.length) decoded.push(await argument(place, parameter, sent[index], makers));
    else if (parameter.optional !== true) throw place.refusal('is missing');
  }
  return decoded;
}

function argument(
  place: Place,
  { type, optional }: ParameterDefinition,
  json: unknown,
  makers: ArgumentMakers,
): unknown {
  if (json === null) {
    if (optional === true) return undefined;
    // Null is a JSON value like any other.
    if (type === 'any') return null;
    throw place.refusal('must not be null');
  }
  return decode(place, type, json, makers);
}

function decode(place: Place, type: FunctionType, json: unknown, makers: ArgumentMakers): unknown {
  if (type === 'image' || type === 'blob') return makers.media(type, object(place, json), place);
  if (typeof type === 'string') return scalar(place, type, json);
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
  const items: unknown[] = [];
  for (const [index, item] of (json as readonly unknown[]).entries()) {
    const at = place.item(index);
    if (item === null && type !== 'any') throw at.refusal('must not be null');
    items.push(item === null ? null : await decode(at, type, item, makers));
  }
  return items;
}

function scalar(place: Place, type: string, json: unknown): unknown {
  const result = scalarArgument(type as ScalarType, json);
  if (result.ok) return result.value;
  throw place.refusal(result.message);
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

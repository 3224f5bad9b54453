import type { FilterParams } from '../filter/params.js';
import { type ErrorName, type RequestError, refuse } from '../protocol/errors.js';
import { shortened, nearestName } from '../protocol/names.js';
import { isTooDeep, maxRequestDepth } from '../protocol/json-problem.js';
import { digitsEnd } from '../protocol/numbers.js';

/**
 * The parsed query string of a request. What a client did not send is `undefined`; what it sent
 * empty is an empty text.
 */
export interface Parameters {
  readonly filter: string | undefined;
  /** Values for the placeholders of the filter, or arguments of a function. */
  readonly params: FilterParams | undefined;
  readonly orderby: string | undefined;
  readonly skip: number | undefined;
  /** `$top`, or else `$limit`. */
  readonly top: number | undefined;
  readonly expand: string | undefined;
  readonly attributes: string | undefined;
  readonly method: string | undefined;
  /** Seconds; 0 counts as not sent. */
  readonly timeout: number | undefined;
  /** `true`, or the filter itself (protocol P9.10, P9.11). */
  readonly savedfilter: string | undefined;
  readonly savedorderby: string | undefined;
  readonly subOrderby: string | undefined;
  readonly logicOperator: string | undefined;
  readonly otherCollection: string | undefined;
  readonly clean: boolean;
  /** `$format`, unless it is `json`. */
  readonly format: string | undefined;
  readonly asArray: boolean;
  readonly queryplan: boolean;
  readonly querypath: boolean;
  readonly compute: string | undefined;
  readonly distinct: boolean;
  /** `$atomic` or `$atOnce`: all entities of a body are saved, or none. */
  readonly atomic: boolean;
  /** What an update would make of entities, without saving them (protocol P7.5). */
  readonly refresh: boolean;
  readonly imageformat: string | undefined;
  /** Copied from the address of an image; without effect elsewhere. */
  readonly version: string | undefined;
  readonly binary: boolean;
  /** `true`, `false` or a content type. */
  readonly rawPict: string | undefined;
  /** Whether to lock an entity, or to unlock it. */
  readonly lock: boolean | undefined;
}

/** A request that changes data refuses every unknown parameter (protocol P1.6). */
export type RequestMode = 'read' | 'write';

type MutableParameters = { -readonly [Name in keyof Parameters]: Parameters[Name] };

const noParameters: Parameters = Object.freeze(emptyParameters());

/**
 * Reads the parameters of a request (protocol P1.5 to P1.8): names in any case; blanks and one pair
 * of quotes around a value are removed, so offsets in errors count from behind the quote.
 *
 * @param query the parsed query string: texts, or an array of texts for a parameter that was given
 * twice
 * @throws RequestError 400 with 1806 for a repeated parameter or a malformed number or switch, 1808
 * or 1809 for an unclosed quote, 1811 for an unknown name, 1821 for `$atomic` that is no switch,
 * 1280 for `$params` that is no list or object
 */
export function readParameters(
  query: Readonly<Record<string, unknown>>,
  mode: RequestMode,
): Parameters {
  const names = Object.keys(query);
  if (names.length === 0) return noParameters;
  const parameters = emptyParameters();
  for (const name of names) {
    const rule = parameterRules.get(name) ?? parameterRules.get(name.toLowerCase());
    if (rule === undefined) {
      if (mode === 'write' || name.startsWith('$')) throw unknownParameter(name);
    } else {
      if (name !== rule.name) checkSpelling(rule, name, names);
      readParameter(parameters, rule, unquoted(rule, query[name]));
    }
  }
  return parameters;
}

function emptyParameters(): MutableParameters {
  return {
    filter: undefined,
    params: undefined,
    orderby: undefined,
    skip: undefined,
    top: undefined,
    expand: undefined,
    attributes: undefined,
    method: undefined,
    timeout: undefined,
    savedfilter: undefined,
    savedorderby: undefined,
    subOrderby: undefined,
    logicOperator: undefined,
    otherCollection: undefined,
    clean: false,
    format: undefined,
    asArray: false,
    queryplan: false,
    querypath: false,
    compute: undefined,
    distinct: false,
    imageformat: undefined,
    version: undefined,
    binary: false,
    rawPict: undefined,
    lock: undefined,
    atomic: false,
    refresh: false,
  };
}

function readParameter(parameters: MutableParameters, rule: ParameterRule, text: string): void {
  const { role } = rule;
  switch (role) {
    case 'filter':
    case 'orderby':
    case 'expand':
    case 'attributes':
    case 'method':
    case 'subOrderby':
    case 'logicOperator':
    case 'otherCollection':
    case 'compute':
    case 'imageformat':
    case 'version':
    case 'rawPict':
      parameters[role] = text;
      return;
    case 'savedfilter':
    case 'savedorderby':
      parameters[role] = text.toLowerCase() === 'false' ? undefined : text;
      return;
    case 'timeout': {
      const seconds = wholeNumber(rule, text);
      parameters.timeout = seconds === 0 ? undefined : seconds;
      return;
    }
    case 'format':
      parameters.format = text.toLowerCase() === 'json' ? undefined : text;
      return;
    case 'clean':
    case 'asArray':
    case 'distinct':
    case 'refresh':
    case 'queryplan':
    case 'querypath':
    case 'binary':
    case 'lock':
      parameters[role] = switched(rule, text);
      return;
    case 'atomic':
      parameters.atomic = switched(rule, text, 'transactionCommand') || parameters.atomic;
      return;
    case 'params':
      parameters.params = filterParams(text);
      return;
    case 'skip':
    case 'top':
      parameters[role] = wholeNumber(rule, text);
      return;
    case 'limit': {
      const limit = wholeNumber(rule, text);
      parameters.top ??= limit;
      return;
    }
    case 'ignored':
      return;
  }
}

function switched(
  { name }: ParameterRule,
  text: string,
  error: ErrorName = 'malformedUrl',
): boolean {
  const value = text.toLowerCase();
  if (value === 'true') return true;
  if (value === 'false') return false;
  throw refuse(error, `${name} must be true or false.`);
}

/** The value as text, without blanks and one pair of quotes around it. */
function unquoted({ name }: ParameterRule, value: unknown): string {
  if (typeof value !== 'string') throw repeated(name);
  const text = value.trim();
  const first = text.charCodeAt(0);
  if (first !== 0x22 && first !== 0x27) return text;
  if (text.length > 1 && text.charCodeAt(text.length - 1) === first) return text.slice(1, -1);
  throw first === 0x22
    ? refuse('missingDoubleQuote', `${name} lacks its closing double quote.`)
    : refuse('missingSingleQuote', `${name} lacks its closing single quote.`);
}

/** A name in another case than the protocol's may appear again in yet another one. */
function checkSpelling(rule: ParameterRule, name: string, names: readonly string[]): void {
  const same = rule.name.toLowerCase();
  if (names.some((other) => other !== name && other.toLowerCase() === same)) {
    throw repeated(rule.name);
  }
}

function repeated(name: string): RequestError {
  return refuse('malformedUrl', `${name} is given more than once.`);
}

function wholeNumber({ name }: ParameterRule, text: string): number {
  const value = Number(text);
  if (text === '' || digitsEnd(text, 0) !== text.length || !Number.isSafeInteger(value)) {
    throw refuse('malformedUrl', `${name} must be a whole number, 0 or greater.`);
  }
  return value;
}

function filterParams(text: string): FilterParams {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw refuse(
      'placeholderType',
      '$params is not JSON: a list or an object of values is expected, names in double quotes.',
    );
  }
  if (isTooDeep(text)) {
    throw refuse('placeholderType', `$params must not nest more than ${maxRequestDepth} levels.`);
  }
  if (typeof value !== 'object' || value === null) {
    throw refuse('placeholderType', '$params must be a JSON list or object of values.');
  }
  return value as FilterParams;
}

function unknownParameter(name: string): RequestError {
  const bare = name.startsWith('$') ? name : `$${name}`;
  const nearest = nearestName(bare, parameterNames);
  const hint = nearest === undefined ? '' : ` Did you mean ${nearest}?`;
  return refuse('unknownParameter', `Unknown parameter ${shortened(name)}.${hint}`);
}

/** How this version treats a parameter of the protocol. */
interface ParameterRule {
  /** As the protocol writes it. */
  readonly name: string;
  readonly role: ParameterRole;
}

type ParameterRole =
  | 'filter'
  | 'params'
  | 'orderby'
  | 'skip'
  | 'top'
  | 'limit'
  | 'expand'
  | 'attributes'
  | 'method'
  | 'timeout'
  | 'savedfilter'
  | 'savedorderby'
  | 'subOrderby'
  | 'logicOperator'
  | 'otherCollection'
  /** `true` or `false`. */
  | 'clean'
  | 'asArray'
  | 'queryplan'
  | 'querypath'
  | 'compute'
  | 'distinct'
  | 'atomic'
  | 'refresh'
  | 'imageformat'
  | 'version'
  | 'binary'
  | 'rawPict'
  /** Accepted, without effect (protocol P1.5). */
  | 'ignored'
  | 'format'
  | 'lock';

const byRole: Readonly<Record<ParameterRole, readonly string[]>> = {
  filter: ['$filter'],
  params: ['$params'],
  orderby: ['$orderby'],
  skip: ['$skip'],
  top: ['$top'],
  limit: ['$limit'],
  expand: ['$expand'],
  attributes: ['$attributes'],
  method: ['$method'],
  timeout: ['$timeout'],
  savedfilter: ['$savedfilter'],
  savedorderby: ['$savedorderby'],
  subOrderby: ['$subOrderby'],
  logicOperator: ['$logicOperator'],
  otherCollection: ['$otherCollection'],
  clean: ['$clean'],
  asArray: ['$asArray'],
  queryplan: ['$queryplan'],
  querypath: ['$querypath'],
  compute: ['$compute'],
  distinct: ['$distinct'],
  imageformat: ['$imageformat'],
  version: ['$version'],
  binary: ['$binary'],
  rawPict: ['$rawPict'],
  ignored: ['$metadata'],
  atomic: ['$atomic', '$atOnce'],
  refresh: ['$refresh'],
  format: ['$format'],
  lock: ['$lock'],
};

/** Every parameter of the protocol, by its name in lower case (protocol P1.5). */
const parameterRules: ReadonlyMap<string, ParameterRule> = new Map(
  (Object.keys(byRole) as ParameterRole[]).flatMap((role) =>
    byRole[role].map((name) => [name.toLowerCase(), { name, role }] as const),
  ),
);

/** Every parameter of the protocol, as the protocol writes it. */
export const parameterNames: readonly string[] = Object.values(byRole).flat();

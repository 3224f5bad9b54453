import type { FilterParams } from '../filter/params.js';
import { type ErrorName, type RequestError, refuse } from '../protocol/errors.js';
import { shortened, nearestName } from '../protocol/names.js';
import { isTooDeep, maxRequestDepth, withRounded } from '../protocol/json-problem.js';
import { digitsEnd } from '../protocol/numbers.js';

/** The parsed query string; what a client did not send is `undefined`. */
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
  /** The shortest time between two messages, in milliseconds (`live.md`). */
  readonly interval: number | undefined;
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
  /** Whether the answer says where the next page begins (protocol P3.29). */
  readonly cursor: boolean;
  /** What the answer before has said. */
  readonly after: string | undefined;
  /** `false` if the answer does not say how many entities there are (protocol P3.24). */
  readonly count: boolean | undefined;
  readonly queryplan: boolean;
  readonly querypath: boolean;
  readonly compute: string | undefined;
  readonly distinct: boolean;
  readonly groupby: string | undefined;
  /** A filter for groups. */
  readonly having: string | undefined;
  /** `$atomic` or `$atOnce`: all entities of a body are saved, or none. */
  readonly atomic: boolean;
  /** How many entities a change by filter may reach (protocol P7.43). */
  readonly atMost: number | undefined;
  /** The unique attribute by which an update finds entities, or creates them (protocol P7.38). */
  readonly upsert: string | undefined;
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

/** A copy of one object would cost more: V8 copies a frozen object slowly. */
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
    interval: undefined,
    timeout: undefined,
    savedfilter: undefined,
    savedorderby: undefined,
    subOrderby: undefined,
    logicOperator: undefined,
    otherCollection: undefined,
    clean: false,
    format: undefined,
    asArray: false,
    cursor: false,
    after: undefined,
    count: undefined,
    queryplan: false,
    querypath: false,
    compute: undefined,
    distinct: false,
    groupby: undefined,
    having: undefined,
    imageformat: undefined,
    version: undefined,
    binary: false,
    rawPict: undefined,
    lock: undefined,
    atomic: false,
    upsert: undefined,
    atMost: undefined,
    refresh: false,
  };
}

/** What {@link readParameters} returns for a request without parameters. */
export const noParameters: Parameters = Object.freeze(emptyParameters());

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
      rule.read(parameters, unquoted(rule.name, query[name]), rule.name);
    }
  }
  if (parameters.having !== undefined && parameters.groupby === undefined) {
    throw refuse('malformedUrl', '$having selects groups: it needs $groupby.');
  }
  return parameters;
}

function switched(name: string, text: string, error: ErrorName = 'malformedUrl'): boolean {
  const value = text.toLowerCase();
  if (value === 'true') return true;
  if (value === 'false') return false;
  throw refuse(error, `${name} must be true or false.`);
}

/** The value as text, without blanks and one pair of quotes around it. */
function unquoted(name: string, value: unknown): string {
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

/** @throws RequestError 400 with 1806 */
export function wholeNumber(name: string, text: string): number {
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
  return withRounded(text, value, 'all') as FilterParams;
}

function unknownParameter(name: string): RequestError {
  const bare = name.startsWith('$') ? name : `$${name}`;
  const nearest = nearestName(bare, parameterNames);
  const hint = nearest === undefined ? '' : ` Did you mean ${nearest}?`;
  return refuse('unknownParameter', `Unknown parameter ${shortened(name)}.${hint}`);
}

/** A parameter of the protocol. */
interface ParameterRule {
  /** The name as the protocol writes it. */
  readonly name: string;
  readonly read: (parameters: MutableParameters, text: string, name: string) => void;
}

const texts = [
  'filter',
  'orderby',
  'expand',
  'attributes',
  'method',
  'subOrderby',
  'logicOperator',
  'otherCollection',
  'compute',
  'groupby',
  'having',
  'imageformat',
  'version',
  'rawPict',
  'upsert',
  'after',
] as const;

const switches = [
  'clean',
  'cursor',
  'asArray',
  'count',
  'distinct',
  'refresh',
  'queryplan',
  'querypath',
  'binary',
  'lock',
] as const;

/** Parameters whose value is neither a text nor a switch. */
const others: Readonly<Record<string, ParameterRule['read']>> = {
  $params: (parameters, text) => {
    parameters.params = filterParams(text);
  },
  $skip: (parameters, text, name) => {
    parameters.skip = wholeNumber(name, text);
  },
  $top: (parameters, text, name) => {
    parameters.top = wholeNumber(name, text);
  },
  $limit: (parameters, text, name) => {
    const limit = wholeNumber(name, text);
    parameters.top ??= limit;
  },
  $atMost: (parameters, text, name) => {
    parameters.atMost = wholeNumber(name, text);
  },
  $interval: (parameters, text, name) => {
    parameters.interval = wholeNumber(name, text);
  },
  $timeout: (parameters, text, name) => {
    const seconds = wholeNumber(name, text);
    parameters.timeout = seconds === 0 ? undefined : seconds;
  },
  $savedfilter: (parameters, text) => {
    parameters.savedfilter = text.toLowerCase() === 'false' ? undefined : text;
  },
  $savedorderby: (parameters, text) => {
    parameters.savedorderby = text.toLowerCase() === 'false' ? undefined : text;
  },
  $format: (parameters, text) => {
    parameters.format = text.toLowerCase() === 'json' ? undefined : text;
  },
  $atomic: readAtomic,
  $atOnce: readAtomic,
  // Accepted, without effect (protocol P1.5).
  $metadata: () => undefined,
};

function readAtomic(parameters: MutableParameters, text: string, name: string): void {
  parameters.atomic = switched(name, text, 'transactionCommand') || parameters.atomic;
}

const rules: readonly ParameterRule[] = [
  ...texts.map((role): ParameterRule => {
    return { name: `$${role}`, read: (parameters, text) => (parameters[role] = text) };
  }),
  ...switches.map((role): ParameterRule => {
    const read: ParameterRule['read'] = (parameters, text, name) =>
      (parameters[role] = switched(name, text));
    return { name: `$${role}`, read };
  }),
  ...Object.entries(others).map(([name, read]) => ({ name, read })),
];

/** Every parameter of the protocol, by its name in lower case (protocol P1.5). */
const parameterRules: ReadonlyMap<string, ParameterRule> = new Map(
  rules.map((rule) => [rule.name.toLowerCase(), rule]),
);

/** Every parameter of the protocol, as the protocol writes it. */
export const parameterNames: readonly string[] = rules.map(({ name }) => name);

/** The ordinary collection, a bare list, or a report (protocol P6.1, P6.2). */
export type AnswerFormat = 'collection' | 'array' | 'report';

type FormatParameters = Pick<
  Parameters,
  'format' | 'count' | 'method' | 'asArray' | 'queryplan' | 'querypath'
>;

/** The format that a request selects. @throws RequestError 400 with 1801 or 1806 */
export function answerFormat(
  parameters: FormatParameters,
  { reportFormat }: { readonly reportFormat: string },
): AnswerFormat {
  const { format, asArray, method } = parameters;
  if (format === undefined && !asArray) return 'collection';
  if (format !== undefined) checkFormat(format, reportFormat);
  const name = format === undefined ? '$asArray' : `$format=${reportFormat}`;
  if (format !== undefined && asArray) throw apart(name, '$asArray');
  if (format !== undefined && parameters.count === false) throw apart(name, '$count=false');
  // The answer to a request that makes a set contains the set's address.
  if (method !== undefined) throw apart(name, `$method=${method}`);
  if (parameters.queryplan) throw apart(name, '$queryplan');
  if (parameters.querypath) throw apart(name, '$querypath');
  return format === undefined ? 'array' : 'report';
}

/** Names of formats are compared without regard to case, as `json` is. */
export function checkFormat(format: string, reportFormat: string): void {
  if (format.toLowerCase() === reportFormat.toLowerCase()) return;
  throw refuse(
    'unsupportedFormat',
    `$format=${shortened(format)} is not known: it is json or ${reportFormat}.`,
  );
}

function apart(one: string, other: string): RequestError {
  return refuse('malformedUrl', `${one} and ${other} cannot be combined.`);
}

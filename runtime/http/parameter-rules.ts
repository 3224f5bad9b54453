import { type ErrorName, refuse } from '../protocol/errors.js';
import { checkFormat, noParameters, type Parameters } from '../query/parameters.js';

type Name = keyof Parameters;

/** Parameters that apply to the same requests. */
interface Group {
  readonly names: readonly Name[];
  readonly error: ErrorName;
  /** @param what is at the address, or is done there */
  readonly text: (name: string, what: string) => string;
}

const onlyOf =
  (where: string): Group['text'] =>
  (name) =>
    `${name} applies to ${where}.`;
const notOf: Group['text'] = (name, what) => `${name} does not apply to ${what}.`;

/** Ignoring a parameter where it does not apply would answer another question, or change more than the client means. */
const groups = {
  pages: {
    names: ['cursor', 'after'],
    error: 'malformedUrl',
    text: onlyOf(
      'a read of the entities of a dataclass, or of a to-many relation of one entity; an entity set has pages by $skip',
    ),
  },
  lock: {
    names: ['lock'],
    error: 'methodNotApplicable',
    text: onlyOf('one entity: /<dataClass>(<key>)?$lock=true'),
  },
  upsert: {
    names: ['upsert'],
    error: 'malformedUrl',
    text: onlyOf('a save: POST /<dataClass>?$method=update&$upsert=<attribute>'),
  },
  atMost: {
    names: ['atMost'],
    error: 'malformedUrl',
    text: onlyOf('a save: POST /<dataClass>?$filter=...&$method=update&$atMost=<number>'),
  },
  sets: {
    names: ['clean', 'logicOperator', 'otherCollection'],
    error: 'malformedUrl',
    text: onlyOf('an entity set: /$entityset/<entitySetID>'),
  },
  subsets: {
    names: ['subOrderby'],
    error: 'malformedUrl',
    text: onlyOf('$method=subentityset; use $orderby'),
  },
  aggregates: {
    names: ['compute', 'distinct', 'groupby'],
    error: 'methodNotApplicable',
    text: notOf,
  },
  several: {
    names: ['format', 'asArray', 'queryplan', 'querypath', 'groupby', 'compute', 'distinct'],
    error: 'malformedUrl',
    text: (name, what) => `${name} applies to a read of several entities, not to ${what}.`,
  },
  lists: { names: ['orderby', 'expand', 'attributes'], error: 'malformedUrl', text: notOf },
  choice: { names: ['filter', 'orderby', 'top', 'skip'], error: 'malformedUrl', text: notOf },
  changes: {
    names: ['savedfilter', 'savedorderby', 'atomic', 'refresh', 'rawPict'],
    error: 'methodNotApplicable',
    text: notOf,
  },
} as const satisfies Readonly<Record<string, Group>>;

type GroupName = keyof typeof groups;

const ofReads = ['lock', 'upsert', 'atMost', 'pages'] as const;

/** What a request reads or does, and which groups do not apply to it. */
const refused = {
  'the entities': ['lock', 'upsert', 'atMost', 'sets', 'subsets'],
  'an entity or its relations': ['upsert', 'atMost', 'sets', 'subsets'],
  'a new set': ['pages'],
  'one entity': ['pages', 'several'],
  'an entity with a value': [...ofReads, 'aggregates', 'several'],
  'an entity set': ofReads,
  '$logicOperator=INTERSECT': ['several'],
  attributes: ['lock'],
  $lock: ['several'],
  'a history': [...ofReads, 'sets', 'subsets', 'lists', 'several'],
  'the changes of a set': [...ofReads, 'several', 'sets', 'subsets', 'choice'],
  'a function': [...ofReads, 'aggregates', 'several', 'sets', 'subsets', 'changes'],
  'the catalog': [...ofReads, 'several'],
  'the description of the server': [...ofReads, 'several'],
  $info: ofReads,
  'a POST': ['lock', 'pages'],
  'a POST to attributes': ofReads,
  'a change': ['several'],
  'an image': ['several'],
  'a BLOB': ['several'],
} as const satisfies Readonly<Record<string, readonly GroupName[]>>;

export type Subject = keyof typeof refused;

/**
 * Refuses parameters that do not apply to what a request reads or does.
 * @throws RequestError 400
 */
export function checkParameters(
  parameters: Parameters,
  subject: Subject,
  { reportFormat }: { readonly reportFormat: string },
): void {
  if (parameters === noParameters) return;
  for (const each of refused[subject]) {
    const { names, error, text }: Group = groups[each];
    for (const name of names) {
      if (!isGiven(parameters, name)) continue;
      if (name === 'subOrderby' && parameters.method === 'subentityset') continue;
      if (name === 'format') checkFormat(parameters.format ?? '', reportFormat);
      const shown = name === 'format' ? `$format=${reportFormat}` : `$${name}`;
      throw refuse(error, text(shown, subject));
    }
  }
}

/** The only parameters of what would change more than the client means if it ignored one. */
const accepted = {
  $directory: [],
  $upload: ['rawPict', 'binary', 'timeout', 'version'],
  // Such a request is atomic in any case.
  'a deletion by key': ['method', 'atomic', 'version'],
  'this $method=delete': ['method', 'atomic', 'version', 'filter', 'params'],
  'this $method=update': ['method', 'atomic', 'version', 'filter', 'params', 'atMost'],
} as const satisfies Readonly<Record<string, readonly Name[]>>;

/** @throws RequestError 400 for any parameter but those that the subject takes */
export function requireOnly(parameters: Parameters, subject: keyof typeof accepted): void {
  const allowed: readonly Name[] = accepted[subject];
  for (const name of Object.keys(parameters) as Name[]) {
    if (!isGiven(parameters, name) || allowed.includes(name)) continue;
    const shown = name === 'top' ? '$top or $limit' : `$${name}`;
    throw refuse('methodNotApplicable', `${shown} does not apply to ${subject}.`);
  }
}

function isGiven(parameters: Parameters, name: Name): boolean {
  const value = parameters[name];
  // `$lock=false` unlocks.
  return value !== undefined && (value !== false || name === 'lock');
}

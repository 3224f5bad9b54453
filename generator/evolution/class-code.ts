import { pathOf, type DataclassPair, type ModelPair } from './attributes.js';
import { functionTypeText } from './clients.js';
import { change, listed, type Change } from './change.js';
import { functionLevels, paired, type Paired } from './renames.js';
import type {
  Attribute,
  ComputedAttribute,
  ClassFunction,
  Dataclass,
  Job,
} from '../model/model.js';

/** What the author of the server's classes has to do. */
export function classCodeChanges(models: ModelPair): readonly Change[] {
  const { older, newer, dataclasses, pairs } = models;
  const singletons = paired(older.singletons, newer.singletons);
  return [
    ...dataclasses.added.flatMap((each) => addedCode(each)),
    ...dataclasses.removed
      .filter(hasCode)
      .map((each) => uncalled(pathOf(each), `The classes of ${each.name}`, 'are')),
    ...pairs.flatMap(pairChanges),
    ...functionsOf('ds', 'datastore.functions', paired(older.functions, newer.functions)),
    ...jobChanges(older.jobs ?? [], newer.jobs ?? []),
    ...singletons.removed.map(({ name }) =>
      uncalled(`singletons.${name}`, `The class of the singleton ${name}`),
    ),
    ...singletons.added.map(({ name }) => missing(`singletons.${name}`, `The singleton ${name}`)),
    ...singletons.both.flatMap(([before, after]) => [
      ...renamed(`singletons.${after.name}`, before, after),
      ...functionsOf(
        after.name,
        `singletons.${after.name}.functions`,
        paired(before.functions, after.functions),
      ),
    ]),
  ];
}

function missing(path: string, what: string, verb: 'needs' | 'need' = 'needs'): Change {
  const message = `${what} ${verb} class code: drs-gen writes a stub.`;
  return change('look', 'code-missing', path, { message });
}

function uncalled(path: string, what: string, verb: 'is' | 'are' = 'is'): Change {
  const message = `${what} ${verb} no longer called; drs-gen deletes no code.`;
  return change('look', 'code-uncalled', path, { message });
}

function renamed(
  path: string,
  before: { readonly name: string },
  after: { readonly name: string },
  owner = '',
): readonly Change[] {
  if (before.name === after.name) return [];
  const message = `${owner}${before.name} is called ${after.name} in class code: drs-gen renames the uses that it is sure of, and lists the others.`;
  return [change('fine', 'code-renamed', path, { message })];
}

function hasCode({ functions, events, restrict, attributes }: Dataclass): boolean {
  return (
    restrict ||
    events.length > 0 ||
    functionLevels.some((level) => functions[level].length > 0) ||
    attributes.some((each) => each.kind === 'computed' && each.accessors.length > 0)
  );
}

function addedCode(dataclass: Dataclass): readonly Change[] {
  return hasCode(dataclass) ? [missing(pathOf(dataclass), dataclass.name)] : [];
}

function pairChanges({ older, newer, path, attributes }: DataclassPair): readonly Change[] {
  const label = newer.name;
  const lost = older.events.filter((each) => !newer.events.includes(each));
  const added = newer.events.filter((each) => !older.events.includes(each));
  const changes: Change[] = [];
  const events = `${path}.events`;
  if (added.length > 0) {
    const what = `${plural('The event', added)} ${listed(added)} of ${label}`;
    changes.push(missing(events, what, added.length === 1 ? 'needs' : 'need'));
  }
  if (lost.length > 0) {
    const what = `${plural('The event', lost)} ${listed(lost)} of ${label}`;
    changes.push(uncalled(events, what, lost.length === 1 ? 'is' : 'are'));
  }
  if (newer.restrict && !older.restrict) {
    changes.push(missing(`${path}.restrict`, `restrict of ${label}`));
  }
  if (!newer.restrict && older.restrict) changes.push(uncalled(path, `restrict of ${label}`));
  return [
    ...(hasCode(newer) || hasCode(older) ? renamed(path, older, newer) : []),
    ...attributes.both.flatMap(([before, after]) =>
      before.exposed || after.exposed
        ? renamed(`${path}.attributes.${after.name}`, before, after, `${label}: `)
        : [],
    ),
    ...changes,
    ...accessorChanges({ older, newer, path, attributes }),
    ...functionLevels.flatMap((level) =>
      functionsOf(
        label,
        `${path}.functions.${level}`,
        paired(older.functions[level], newer.functions[level]),
      ),
    ),
  ];
}

function plural(word: string, of: readonly unknown[]): string {
  return of.length === 1 ? word : `${word}s`;
}

/** Accessors of computed attributes. */
function accessorChanges({ newer, path, attributes }: DataclassPair): readonly Change[] {
  const accessorsOf = (attribute: Attribute | undefined): ComputedAttribute['accessors'] =>
    attribute?.kind === 'computed' ? attribute.accessors : [];
  const sides: readonly (readonly [Attribute | undefined, Attribute | undefined])[] = [
    ...attributes.both,
    ...attributes.removed.map((each) => [each, undefined] as const),
    ...attributes.added.map((each) => [undefined, each] as const),
  ];
  return sides.flatMap(([before, after]) => {
    const [from, to] = [accessorsOf(before), accessorsOf(after)];
    const name = (after ?? before)?.name ?? '';
    const at = `${path}.attributes.${name}`;
    const of = (list: readonly string[]): string =>
      `${plural('The accessor', list)} ${listed(list)} of ${newer.name}.${name}`;
    const added = to.filter((each) => !from.includes(each));
    const lost = from.filter((each) => !to.includes(each));
    return [
      ...(added.length === 0
        ? []
        : [missing(at, of(added), added.length === 1 ? 'needs' : 'need')]),
      ...(lost.length === 0 ? [] : [uncalled(at, of(lost), lost.length === 1 ? 'is' : 'are')]),
    ];
  });
}

function functionsOf(
  owner: string,
  path: string,
  { both, removed, added }: Paired<ClassFunction>,
): readonly Change[] {
  return [
    ...removed.map(({ name }) => uncalled(`${path}.${name}`, `${owner}.${name}()`)),
    ...added.map(({ name }) => missing(`${path}.${name}`, `${owner}.${name}()`)),
    ...both.flatMap(([before, after]) => {
      const at = `${path}.${after.name}`;
      const [from, to] = [signature(before), signature(after)];
      const message = `${owner}.${after.name} had the signature ${from} and has ${to}.`;
      return [
        ...renamed(at, before, after, `${owner}: `),
        ...(from === to ? [] : [change('look', 'code-signature', at, { message })]),
      ];
    }),
  ];
}

/** Jobs that wait in the database are of the older model. */
function jobChanges(older: readonly Job[], newer: readonly Job[]): readonly Change[] {
  const { added, removed, both } = paired(older, newer);
  return [
    ...removed.map(({ name }) => {
      const message = `The code of the job ${name} is no longer called, and jobs of this name that wait in the database stay there; drs-gen deletes no code.`;
      return change('look', 'job-removed', `jobs.${name}`, { message });
    }),
    ...added.map(({ name }) => missing(`jobs.${name}`, `The job ${name}`)),
    ...both.flatMap(([before, after]) => {
      const [from, to] = [parameterList(before.params), parameterList(after.params)];
      if (from === to) return [];
      const message = `The job ${after.name} had the parameters (${from}) and has (${to}). Jobs that wait in the database have the old ones; one that does not fit fails with a message.`;
      return [change('look', 'job-parameters', `jobs.${after.name}`, { message })];
    }),
  ];
}

function parameterList(params: ClassFunction['params']): string {
  return params
    .map(({ name, type, optional }) => `${name}${optional ? '?' : ''}: ${functionTypeText(type)}`)
    .join(', ');
}

function signature({ params, returns, mandatoryResult }: ClassFunction): string {
  return `(${parameterList(params)}) => ${functionTypeText(returns)}${mandatoryResult === true ? '' : ' or null'}`;
}

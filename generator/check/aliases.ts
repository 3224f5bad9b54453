import { child, textOf } from '../source/tree.js';
import { checkReserved } from './names.js';
import { relationTarget } from './relation-target.js';
import { renamedFromOf, renameHint } from './renames.js';
import { entityMembers, selectionMembers } from './reserved.js';
import { describedBy, type AttributeDraft, type DataclassDraft, type World } from './world.js';
import type {
  AggregateAttribute,
  AliasAttribute,
  RelationAliasAttribute,
  StorageType,
  Attribute,
  Dataclass,
  Model,
  Roles,
} from '../model/model.js';
import type { SourceNode } from '../source/tree.js';
import type { Context } from './context.js';
import { Granted, type Holder } from '../model/granted.js';
import { attributeNamed, sharedMembers, targetOf } from '../model/lookup.js';

/** Names that class code has for something else; other members of entities are reserved for all attributes. */
const relationMembers = new Set([
  ...[...selectionMembers].filter((each) => !entityMembers.has(each)),
  ...sharedMembers,
]);

/** How long a chain of aliases may be. */
const maxAliases = 100;

/** How many relations an alias to a relation may follow: each is a nested query, and SQLite takes less than 30. */
export const maxRelations = 10;

/** How many relations all aliases of a dataclass may follow: a read joins them, and SQLite joins 64 tables. */
const maxJoins = 60;

/** The path of an alias, in which other aliases are replaced by their paths. */
interface Resolved {
  readonly path: readonly string[];
  /** Whether there is a to-many relation in it. */
  readonly many: boolean;
  /** The dataclass of the last to-many relation in it. */
  readonly counted?: DataclassDraft | undefined;
  readonly end: ResolvedEnd;
}

/** A dataclass, if the path ends in a relation; else what the attribute at its end is. */
type ResolvedEnd =
  | { readonly target: DataclassDraft }
  | {
      readonly type: StorageType;
      readonly dateOnly: boolean;
      readonly precision?: number;
      readonly scale?: number;
    };

export interface Aliases {
  readonly attribute: (
    dataclass: DataclassDraft,
    draft: AttributeDraft,
  ) => AliasAttribute | RelationAliasAttribute | undefined;
  /** The path of an alias; a problem of it is reported once. */
  readonly resolved: (dataclass: DataclassDraft, draft: AttributeDraft) => Resolved | undefined;
}

/** Resolves the paths of aliases; each is resolved once, and its problems are reported once. */
export function createAliases(context: Context, world: World): Aliases {
  const known = new Map<AttributeDraft, Resolved | undefined>();
  /** The to-one paths that the aliases of a dataclass follow; equal ones are joined once. */
  const joined = new Map<DataclassDraft, Set<string>>();
  const open: AttributeDraft[] = [];

  function resolve(dataclass: DataclassDraft, draft: AttributeDraft): Resolved | undefined {
    if (known.has(draft)) return known.get(draft);
    open.push(draft);
    const resolved = follow(dataclass, draft);
    open.pop();
    known.set(draft, resolved);
    return resolved;
  }

  /** Walks the path to the attribute at its end. */
  function follow(start: DataclassDraft, draft: AttributeDraft): Resolved | undefined {
    const at = child(draft.node, 'alias');
    const text = textOf(at);
    if (at === undefined || text === undefined) return undefined;
    const names = text.split('.');
    if (names.includes('')) {
      context.report('alias/bad-path', { alias: draft.label }, at);
      return undefined;
    }
    const path: string[] = [];
    let many = false;
    let counted: DataclassDraft | undefined;
    let here = start;
    for (const [index, name] of names.entries()) {
      const step = stepOf(context, here, draft, at, name);
      if (step === undefined) return undefined;
      const isLast = index === names.length - 1;
      const next = stepEnd(here, draft, at, step, isLast);
      if (next === undefined) return undefined;
      path.push(...next.path);
      many ||= next.many;
      counted = next.counted ?? counted;
      if ('target' in next.end) {
        here = next.end.target;
        continue;
      }
      if (!isLast) {
        const fill = { alias: draft.label, step: step.label };
        context.report('alias/not-a-relation', fill, at);
        return undefined;
      }
      if (many) {
        context.report('alias/to-many', { alias: draft.label, step: step.label }, at);
        return undefined;
      }
      if (path.length === 1) {
        context.report('alias/bad-path', { alias: draft.label }, at);
        return undefined;
      }
      return { path, many, end: next.end };
    }
    if (path.length > maxRelations) {
      const fill = { alias: draft.label, count: path.length, limit: maxRelations };
      context.report('alias/too-long', fill, at);
      return undefined;
    }
    return { path, many, counted, end: { target: here } };
  }

  /** One name of a path, and where it leads. */
  function stepEnd(
    dataclass: DataclassDraft,
    draft: AttributeDraft,
    at: SourceNode,
    step: AttributeDraft,
    isLast: boolean,
  ): Resolved | undefined {
    const { kind, name, type, dateOnly, digits } = step;
    if (kind === 'toOne' || kind === 'toMany') {
      const target = relationTarget(world, step);
      const counted = kind === 'toMany' ? target : undefined;
      return target && { path: [name], many: kind === 'toMany', counted, end: { target } };
    }
    if (kind === 'alias') return throughAlias(dataclass, draft, at, step);
    if (kind === 'aggregate') {
      context.report('alias/to-aggregate', { alias: draft.label, step: step.label }, at);
      return undefined;
    }
    if (isLast && kind === 'computed' && child(step.node, 'expression') === undefined) {
      context.report('alias/to-accessors', { alias: draft.label, step: step.label }, at);
      return undefined;
    }
    if (type === undefined) return undefined;
    return { path: [name], many: false, end: { type, dateOnly, ...digits } };
  }

  function throughAlias(
    dataclass: DataclassDraft,
    draft: AttributeDraft,
    at: SourceNode,
    step: AttributeDraft,
  ): Resolved | undefined {
    const circle = open.indexOf(step);
    if (circle !== -1) {
      const labels = [...open.slice(circle), step].map(({ label }) => label);
      context.report('alias/cycle', { alias: draft.label, circle: labels.join(', ') }, at);
      return undefined;
    }
    if (open.length >= maxAliases) {
      context.report('alias/too-deep', { alias: draft.label, limit: maxAliases }, at);
      return undefined;
    }
    return resolve(dataclass, step);
  }

  /** Counts hidden aliases too, because class code reads them. */
  function countJoins(dataclass: DataclassDraft, draft: AttributeDraft, { path }: Resolved): void {
    const paths = joined.get(dataclass) ?? new Set();
    joined.set(dataclass, paths);
    const before = paths.size;
    for (let length = 1; length < path.length; length += 1) {
      paths.add(path.slice(0, length).join('.'));
    }
    if (before <= maxJoins && paths.size > maxJoins) {
      const fill = { alias: draft.label, dataclass: dataclass.name, limit: maxJoins };
      context.report('alias/too-many', fill, child(draft.node, 'alias') ?? draft.node);
    }
  }

  return {
    resolved: resolve,
    attribute: (dataclass, draft) => {
      const resolved = resolve(dataclass, draft);
      if (resolved === undefined) return undefined;
      if (!resolved.many) countJoins(dataclass, draft, resolved);
      const { name, exposed, node } = draft;
      const { path, many, end } = resolved;
      const named = { name, ...renamedFromOf(node), ...describedBy(node) };
      if (!('target' in end)) return { kind: 'alias', ...named, exposed, path, ...end };
      const { target } = end;
      checkReserved(context, draft.key, relationMembers, 'every entity or every selection');
      return {
        kind: 'relationAlias',
        ...named,
        exposed: exposed && target.exposed,
        path,
        target: target.name,
        many,
      };
    },
  };
}

function stepOf(
  context: Context,
  dataclass: DataclassDraft,
  draft: AttributeDraft,
  at: SourceNode,
  name: string,
): AttributeDraft | undefined {
  const found = dataclass.attribute.get(name);
  if (found !== undefined) return found;
  const fill = { alias: draft.label, dataclass: dataclass.name, step: name };
  const help =
    renameHint(`${dataclass.name}.`, name, dataclass.attributes) ??
    context.suggest(name, dataclass.attribute.keys());
  context.report('alias/unknown-step', fill, at, help);
  return undefined;
}

/**
 * Reports aliases that show values to sessions that may not read the original attribute. An alias
 * with a read permission of its own is intended.
 * @param model as the file has it, exposed or not, before roles close anything
 */
export function checkOpenedAliases(
  context: Context,
  world: World,
  model: Omit<Model, 'roles'>,
  roles: Roles,
): void {
  const granted = new Granted(model, roles);
  const holders = granted
    .holders()
    .filter(({ kind }) => kind !== (roles.forceLogin ? 'guest' : 'user'));
  const deliberate = new Set(
    roles.permissions
      .filter(({ type, actions }) => type === 'attribute' && actions.read !== undefined)
      .map(({ applyTo }) => applyTo),
  );
  for (const dataclass of model.dataclasses) {
    for (const attribute of dataclass.attributes) {
      const label = `${dataclass.name}.${attribute.name}`;
      const isAlias =
        attribute.kind === 'alias' ||
        attribute.kind === 'relationAlias' ||
        attribute.kind === 'aggregate';
      if (!isAlias || deliberate.has(label)) continue;
      const way = wayOf(model, dataclass, attribute);
      const showing = holders.filter((holder) =>
        granted.attribute(dataclass, attribute, holder, 'read'),
      );
      const closedAt = (holder: Holder): readonly [Dataclass, Attribute] | undefined =>
        way.find(([of, step]) => !granted.attribute(of, step, holder, 'read'));
      const [first, ...others] = showing.filter((holder) => closedAt(holder) !== undefined);
      const closed = first === undefined ? undefined : closedAt(first);
      const at = world.dataclass.get(dataclass.name)?.attribute.get(attribute.name)?.key;
      if (first === undefined || closed === undefined || at === undefined) continue;
      const rest = others.length === 0 ? '' : ` and ${String(others.length)} more`;
      const fill = {
        alias: label,
        holders: `${wordOf(first)}${rest}`,
        step: `${closed[0].name}.${closed[1].name}`,
      };
      context.report('alias/opens-closed', fill, at);
    }
  }
}

/**
 * The attributes on the path of an alias, including its end, as if all of them were exposed: this
 * check is about privileges.
 */
function wayOf(
  model: Omit<Model, 'roles'>,
  start: Dataclass,
  { path }: AliasAttribute | RelationAliasAttribute | AggregateAttribute,
): readonly (readonly [Dataclass, Attribute])[] {
  let dataclass = start;
  return path.map((name) => {
    const attribute = attributeNamed(dataclass, name);
    const step = [
      { ...dataclass, exposed: true },
      { ...attribute, exposed: true },
    ] as const;
    if ('target' in attribute) dataclass = targetOf(model, attribute);
    return step;
  });
}

function wordOf({ kind, name }: Holder): string {
  switch (kind) {
    case 'guest':
      return 'everybody';
    case 'user':
      return 'every user';
    case 'role':
      return `the role ${name}`;
    case 'privilege':
      return `the privilege ${name}`;
  }
}

import { child, textOf } from '../source/tree.js';
import { relationTarget } from './relation-target.js';
import { renamedFromOf, renameHint } from './renames.js';
import { describedBy, type AttributeDraft, type DataclassDraft, type World } from './world.js';
import type {
  AliasAttribute,
  StorageType,
  Attribute,
  Dataclass,
  Model,
  Roles,
} from '../model/model.js';
import type { SourceNode } from '../source/tree.js';
import type { Context } from './context.js';
import { Granted, type Holder } from '../model/granted.js';
import { attributeNamed, targetOf } from '../model/lookup.js';

/** How long a chain of aliases may be. */
const maxAliases = 100;

/** The path of an alias, in which other aliases are replaced by their paths. */
interface Resolved {
  readonly path: readonly string[];
  readonly type: StorageType;
  readonly dateOnly: boolean;
  readonly precision?: number;
  readonly scale?: number;
}

export interface Aliases {
  readonly attribute: (
    dataclass: DataclassDraft,
    draft: AttributeDraft,
  ) => AliasAttribute | undefined;
}

/** Resolves the paths of aliases; each is resolved once, and its problems are reported once. */
export function createAliases(context: Context, world: World): Aliases {
  const known = new Map<AttributeDraft, Resolved | undefined>();
  const open: AttributeDraft[] = [];

  function resolve(dataclass: DataclassDraft, draft: AttributeDraft): Resolved | undefined {
    if (known.has(draft)) return known.get(draft);
    open.push(draft);
    const resolved = follow(dataclass, draft);
    open.pop();
    known.set(draft, resolved);
    return resolved;
  }

  function follow(dataclass: DataclassDraft, draft: AttributeDraft): Resolved | undefined {
    const end = endOf(context, world, dataclass, draft);
    if (end === undefined) return undefined;
    const { attribute, hops, at } = end;
    if (attribute.kind !== 'alias') {
      if (attribute.type === undefined) return undefined;
      const { name, type, dateOnly, digits } = attribute;
      return { path: [...hops, name], type, dateOnly, ...digits };
    }
    const circle = open.indexOf(attribute);
    if (circle !== -1) {
      const labels = [...open.slice(circle), attribute].map(({ label }) => label);
      context.report('alias/cycle', { alias: draft.label, circle: labels.join(', ') }, at);
      return undefined;
    }
    if (open.length >= maxAliases) {
      context.report('alias/too-deep', { alias: draft.label, limit: maxAliases }, at);
      return undefined;
    }
    const inner = resolve(end.dataclass, attribute);
    return inner === undefined ? undefined : { ...inner, path: [...hops, ...inner.path] };
  }

  return {
    attribute: (dataclass, draft) => {
      const resolved = resolve(dataclass, draft);
      if (resolved === undefined) return undefined;
      const { name, exposed, node } = draft;
      return {
        kind: 'alias',
        name,
        exposed,
        ...renamedFromOf(node),
        ...describedBy(node),
        ...resolved,
      };
    },
  };
}

interface End {
  readonly dataclass: DataclassDraft;
  readonly attribute: AttributeDraft;
  readonly hops: readonly string[];
  readonly at: SourceNode;
}

/** Walks the path to the attribute at its end, over to-one relations. */
function endOf(
  context: Context,
  world: World,
  start: DataclassDraft,
  draft: AttributeDraft,
): End | undefined {
  const at = child(draft.node, 'alias');
  const text = textOf(at);
  if (at === undefined || text === undefined) return undefined;
  const steps = text.split('.');
  if (steps.length < 2 || steps.includes('')) {
    context.report('alias/bad-path', { alias: draft.label }, at);
    return undefined;
  }
  const hops = steps.slice(0, -1);
  let dataclass: DataclassDraft | undefined = start;
  for (const name of hops) {
    const step = stepOf(context, dataclass, draft, at, name);
    if (step === undefined || !isToOne(context, draft, at, step)) return undefined;
    dataclass = relationTarget(world, step);
    if (dataclass === undefined) return undefined;
  }
  const attribute = stepOf(context, dataclass, draft, at, steps.at(-1) ?? '');
  if (attribute?.kind === 'toOne' || attribute?.kind === 'toMany') {
    const code = attribute.kind === 'toOne' ? 'alias/to-relation' : 'alias/to-many';
    context.report(code, { alias: draft.label, step: attribute.label }, at);
    return undefined;
  }
  if (attribute?.kind === 'computed' && child(attribute.node, 'expression') === undefined) {
    context.report('alias/to-accessors', { alias: draft.label, step: attribute.label }, at);
    return undefined;
  }
  return attribute === undefined ? undefined : { dataclass, attribute, hops, at };
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

function isToOne(
  { report }: Context,
  draft: AttributeDraft,
  at: SourceNode,
  step: AttributeDraft,
): boolean {
  const fill = { alias: draft.label, step: step.label };
  if (step.kind === 'toMany') report('alias/to-many', fill, at);
  else if (step.kind !== 'toOne' && step.kind !== undefined) {
    report('alias/not-a-relation', fill, at);
  }
  return step.kind === 'toOne';
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
      if (attribute.kind !== 'alias' || deliberate.has(label)) continue;
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
  { path }: AliasAttribute,
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

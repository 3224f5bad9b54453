import { booleanOf, child, entry, itemsOf, textOf } from '../../source/tree.js';
import { actions as actionWords, isOneOf, permissionTypes } from '../../source/vocabulary.js';
import { fold } from '../../../runtime/protocol/fold.js';
import { checkRenames, renamedFromOf } from '../renames.js';
import { builtIn, checkPrivileges, type Privileges } from './privileges.js';
import type { Action, ClassFunction, Permission, Roles, Model } from '../../model/model.js';
import type { SourceKey, SourceNode } from '../../source/tree.js';
import type { ModelInput } from '../check-model.js';
import type { Context } from '../context.js';
import type { World } from '../world.js';
import { checkRolesShape } from '../shape/check-shape.js';
import { readFile } from '../yaml-problems.js';

/** The roles of a model, written in it or in a file next to it. */
export interface RolesSource {
  /** Absent if the file cannot be understood. */
  readonly node?: SourceNode | undefined;
  /** The file that was read. */
  readonly file?: { readonly name: string; readonly text: string };
}

/** Reads the roles and checks their shape; `undefined` if the model has none. */
export function readRoles(
  context: Context,
  root: SourceNode,
  { file, readBeside }: Pick<ModelInput, 'file' | 'readBeside'>,
): RolesSource | undefined {
  const given = entry(root, 'roles');
  if (given === undefined) return undefined;
  const path = textOf(given.value);
  if (path === undefined) {
    checkRolesShape(context, { node: given.value, key: given.key });
    return { node: given.value };
  }
  const { report } = context;
  const parts = path.split(/[/\\]/);
  if (/^(?:[/\\]|[A-Za-z]:)/.test(path) || parts.includes('..') || path.includes('\0')) {
    report('roles/file-outside', { path: JSON.stringify(path) }, given.value);
    return {};
  }
  const source = path === '' ? undefined : readBeside(path);
  if (source === undefined) {
    report('roles/file-not-found', { path: JSON.stringify(path) }, given.value);
    return {};
  }
  const [folder = ''] = /^.*[/\\]/s.exec(file) ?? [];
  const name = `${folder}${path}`;
  const { root: node, text } = readFile(report, name, source);
  if (node !== undefined) checkRolesShape(context, { node });
  return { node, file: { name, text } };
}

const dataActions: readonly Action[] = ['create', 'read', 'update', 'drop', 'execute', 'describe'];

const fittingActions: Readonly<Record<Permission['type'], readonly Action[]>> = {
  datastore: dataActions,
  dataclass: dataActions,
  attribute: ['create', 'read', 'update', 'drop', 'describe'],
  method: ['execute', 'promote', 'describe'],
  singleton: ['execute', 'describe'],
  singletonMethod: ['execute', 'promote', 'describe'],
};

/**
 * Checks privileges, roles and permissions, and resolves every name in them.
 * @param explorer names the privilege that opens the explorer
 */
export function checkRoles(
  context: Context,
  { roles, explorer }: { readonly roles: SourceNode; readonly explorer: SourceNode | undefined },
  parts: ResourceParts,
): Roles {
  const privileges = checkPrivileges(context, roles);
  checkItemRenames(context, child(roles, 'privileges'), 'privilege', builtIn);
  const [opening] = privileges.named(explorer === undefined ? [] : [explorer]);
  return {
    forceLogin: booleanOf(child(roles, 'forceLogin')) === true,
    restrictedByDefault: booleanOf(child(roles, 'restrictedByDefault')) !== false,
    privileges: privileges.declared,
    roles: bundles(context, roles, privileges),
    permissions: permissions(context, roles, privileges, parts),
    ...(opening === undefined ? {} : { explorer: opening }),
  };
}

function bundles(context: Context, roles: SourceNode, privileges: Privileges): Roles['roles'] {
  const known = new Set<string>();
  checkItemRenames(context, child(roles, 'roles'), 'role');
  return itemsOf(child(roles, 'roles')).flatMap((item) => {
    const at = child(item, 'role');
    const name = textOf(at);
    const held = privileges.named(itemsOf(child(item, 'privileges')));
    if (at === undefined || name === undefined) return [];
    if (known.has(fold(name))) context.report('roles/duplicate', { what: 'role', name }, at);
    known.add(fold(name));
    return [{ name, ...renamedFromOf(item), privileges: held }];
  });
}

/** Items of a list, whose names are values of a key. */
function checkItemRenames(
  context: Context,
  list: SourceNode | undefined,
  nameKey: string,
  builtInNames: readonly string[] = [],
): void {
  const parts = itemsOf(list).flatMap((node) => {
    const at = child(node, nameKey);
    const name = textOf(at);
    return at === undefined || name === undefined ? [] : [{ key: { ...at, name }, node }];
  });
  checkRenames(context, { prefix: '', parts, isFreeText: true, builtIn: builtInNames });
}

function permissions(
  context: Context,
  roles: SourceNode,
  privileges: Privileges,
  parts: ResourceParts,
): readonly Permission[] {
  const known = new Set<string>();
  const resources = resourcesOf(parts);
  const earlier = resourcesOf(parts, (each) => each.renamedFrom ?? []);
  return itemsOf(child(child(roles, 'permissions'), 'allowed')).flatMap((item) => {
    const type = textOf(child(item, 'type'));
    const at = child(item, 'applyTo');
    const written = textOf(at);
    if (at === undefined || written === undefined || !isOneOf(permissionTypes, type)) return [];
    const applyTo = resources[type].get(fold(written));
    const fitting = fittingPrivileges(context, item, type, privileges);
    if (applyTo === undefined) {
      const now = earlier[type].get(fold(written));
      const help =
        now === undefined
          ? context.suggest(written, resources[type].values())
          : `${written} was renamed: write ${now}`;
      context.report('roles/unknown-resource', { type, applyTo: written }, at, help);
      return [];
    }
    const identity = `${type} ${applyTo}`;
    if (known.has(identity)) {
      context.report('roles/duplicate', { what: 'permission for the', name: identity }, at);
    }
    known.add(identity);
    return [{ applyTo, type, actions: fitting }];
  });
}

function fittingPrivileges(
  { report }: Context,
  item: SourceNode,
  type: Permission['type'],
  privileges: Privileges,
): Permission['actions'] {
  const found: Partial<Record<Action, readonly string[]>> = {};
  for (const action of actionWords) {
    const given = entry(item, action);
    if (given === undefined) continue;
    const { value } = given;
    if (value.kind === 'list' && value.items.length === 0) {
      report('roles/empty-list', { action }, value);
    }
    const names = privileges.named(itemsOf(value));
    if (names.length === 0) continue;
    if (fittingActions[type].includes(action)) found[action] = names;
    // Existing roles files close promote for the whole datastore with none, which changes nothing.
    else if (names.some((name) => name !== 'none')) {
      report('roles/action', { action, type, fitting: fittingActions[type].join(', ') }, given.key);
    }
  }
  return found;
}

/**
 * The resources of permissions: for each type, the names as they are written in the model, by their
 * folded form.
 */
type Resources = Readonly<Record<Permission['type'], ReadonlyMap<string, string>>>;

type ResourceParts = Pick<Model, 'dataclasses' | 'functions' | 'singletons'>;

interface Named {
  readonly name: string;
  readonly renamedFrom?: readonly string[];
}

/** @param earlier gives the earlier names of a part, for a map from what resources were once called */
function resourcesOf(
  { dataclasses, functions, singletons }: ResourceParts,
  earlier: (of: Named) => readonly string[] = () => [],
): Resources {
  const namesOf = (part: Named): readonly string[] => [part.name, ...earlier(part)];
  const names = (of: readonly Named[]): readonly Entry[] =>
    of.flatMap((each) => namesOf(each).map((name): Entry => [name, each.name]));
  const members = (owner: Named, of: readonly Named[]): readonly Entry[] =>
    namesOf(owner).flatMap((before) =>
      names(of).map(([name, now]): Entry => [`${before}.${name}`, `${owner.name}.${now}`]),
    );
  const ds: Named = { name: 'ds' };
  return {
    datastore: byFolded(names([ds])),
    dataclass: byFolded(names(dataclasses)),
    attribute: byFolded(dataclasses.flatMap((each) => members(each, each.attributes))),
    method: byFolded([
      ...members(ds, functions),
      ...dataclasses.flatMap((each) => {
        const { dataclass, selection, entity } = each.functions;
        return members(each, [...dataclass, ...selection, ...entity]);
      }),
    ]),
    singleton: byFolded(names(singletons)),
    singletonMethod: byFolded(singletons.flatMap((each) => members(each, each.functions))),
  };
}

/** A name, and the one that is right now. */
type Entry = readonly [string, string];

function byFolded(entries: readonly Entry[]): ReadonlyMap<string, string> {
  return new Map(entries.map(([name, now]) => [fold(name), now]));
}

/**
 * Names the exposed dataclasses and functions that the roles leave to nobody. If that is a dataclass,
 * its functions are not named.
 */
export function checkReachable(
  { report }: Context,
  { root, dataclass }: World,
  before: ResourceParts,
  after: ResourceParts,
): void {
  const help = 'name it in permissions, or write exposed: false';
  const tell = (names: readonly string[], at: SourceKey | undefined): void => {
    if (names.length === 0 || at === undefined) return;
    report('roles/unreachable', { names: names.join(', ') }, at, help);
  };
  const lost = (
    owner: string,
    were: readonly ClassFunction[],
    are: readonly ClassFunction[],
  ): readonly string[] =>
    were.flatMap(({ name, exposed }, index) =>
      exposed && are[index]?.exposed === false ? [`${owner}.${name}`] : [],
    );
  for (const [index, was] of before.dataclasses.entries()) {
    const is = after.dataclasses[index];
    if (is === undefined || !was.exposed) continue;
    const functions = Object.values(was.functions).flat();
    tell(
      is.exposed ? lost(was.name, functions, Object.values(is.functions).flat()) : [was.name],
      dataclass.get(was.name)?.key,
    );
  }
  tell(lost('ds', before.functions, after.functions), entry(root, 'datastore')?.key);
  for (const [index, was] of before.singletons.entries()) {
    const functions = after.singletons[index]?.functions ?? [];
    tell(lost(was.name, was.functions, functions), entry(child(root, 'singletons'), was.name)?.key);
  }
}

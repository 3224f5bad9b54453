import { child, entriesOf, itemsOf, textOf } from '../../source/tree.js';
import { fold } from '../../../runtime/protocol/fold.js';
import { earlierNames, renamedFromOf, renameHint, type Renamed } from '../renames.js';
import type { Roles } from '../../model/model.js';
import type { SourceNode } from '../../source/tree.js';
import type { Context } from '../context.js';

/** Everyone holds guest, nobody holds none; WebAdmin is for administration. */
export const builtIn = ['guest', 'none', 'WebAdmin'];

interface Privilege extends Renamed {
  readonly node: SourceNode;
  readonly includes: readonly SourceNode[];
}

/** The privileges of a model; names are compared without regard to case. */
export interface Privileges {
  readonly declared: Roles['privileges'];
  /** Names as they are declared; those that do not exist are reported and left out. */
  readonly named: (items: readonly SourceNode[]) => readonly string[];
}

export function checkPrivileges(context: Context, roles: SourceNode): Privileges {
  const declared = declaredPrivileges(context, roles);
  const names = new Map<string, string>();
  for (const name of builtIn) names.set(fold(name), name);
  for (const [folded, { name }] of declared) names.set(folded, name);

  const named: Privileges['named'] = (items) => {
    const found = items.flatMap((item) => {
      const written = textOf(item);
      if (written === undefined) return [];
      const name = names.get(fold(written));
      if (name !== undefined) return [name];
      const help =
        renameHint('', written, declared.values()) ?? context.suggest(written, names.values());
      context.report('roles/unknown-privilege', { name: written }, item, help);
      return [];
    });
    return [...new Set(found)];
  };

  const included = new Map(
    [...declared.values()].map(({ name, includes }) => [
      name,
      includes.flatMap((list) => named(itemsOf(list))),
    ]),
  );
  checkCycles(context, declared);
  const all = [...declared.values()].map(({ name, node }) => ({
    name,
    ...renamedFromOf(node),
    includes: allIncluded(included, name),
  }));
  return { declared: all, named };
}

function declaredPrivileges(
  { report }: Context,
  roles: SourceNode,
): ReadonlyMap<string, Privilege> {
  const declared = new Map<string, Privilege>();
  for (const item of itemsOf(child(roles, 'privileges'))) {
    const at = child(item, 'privilege');
    const name = textOf(at);
    if (at === undefined || name === undefined) continue;
    const includes = entriesOf(item).flatMap(({ key, value }) =>
      key.name === 'includes' ? [value] : [],
    );
    if (builtIn.some((each) => fold(each) === fold(name))) {
      report('roles/reserved-privilege', { name }, at);
    }
    if (declared.has(fold(name))) report('roles/duplicate', { what: 'privilege', name }, at);
    else declared.set(fold(name), { name, earlier: earlierNames(item), node: item, includes });
  }
  return declared;
}

/** A privilege on the way of the walk below, and those that it includes and that are still to be visited. */
interface Step {
  readonly privilege: Privilege;
  readonly rest: SourceNode[];
}

/** Depth first, without recursion: a long chain of includes is no reason to fail. */
function checkCycles(context: Context, declared: ReadonlyMap<string, Privilege>): void {
  const done = new Set<Privilege>();
  for (const start of declared.values()) {
    const open = done.has(start) ? [] : [stepTo(start)];
    for (let step = open.at(-1); step !== undefined; step = open.at(-1)) {
      const item = step.rest.shift();
      if (item === undefined) {
        done.add(step.privilege);
        open.pop();
        continue;
      }
      const included = declared.get(fold(textOf(item) ?? ''));
      if (included === undefined || done.has(included)) continue;
      const circle = open.findIndex(({ privilege }) => privilege === included);
      if (circle === -1) open.push(stepTo(included));
      else tellCircle(context, [...open.slice(circle), stepTo(included)], item);
    }
  }
}

function stepTo(privilege: Privilege): Step {
  return { privilege, rest: privilege.includes.flatMap(itemsOf) };
}

function tellCircle({ report }: Context, steps: readonly Step[], at: SourceNode): void {
  const circle = steps.map(({ privilege }) => privilege.name).join(' > ');
  report('roles/include-cycle', { circle }, at);
}

/** A privilege and all that it includes, itself first. */
function allIncluded(included: ReadonlyMap<string, readonly string[]>, name: string): string[] {
  const found = new Set([name]);
  // The iteration of a set includes items that are added meanwhile.
  for (const each of found) for (const next of included.get(each) ?? []) found.add(next);
  return [...found];
}

import { child, entriesOf, itemsOf, textOf } from '../../source/tree.js';
import { fold } from '../fold.js';
import type { Roles } from '../../model/model.js';
import type { SourceNode } from '../../source/tree.js';
import type { Context } from '../context.js';

/** Everyone has guest, nobody has none; WebAdmin belongs to administration. */
const builtIn = ['guest', 'none', 'WebAdmin'];

interface Privilege {
  readonly name: string;
  readonly includes: readonly SourceNode[];
}

/** The privileges of a model; names are compared without regard to case. */
export interface Privileges {
  readonly declared: Roles['privileges'];
  /** Names of a list as they are declared; those that do not exist are reported and left out. */
  readonly named: (list: SourceNode | undefined) => readonly string[];
}

export function checkPrivileges(context: Context, roles: SourceNode): Privileges {
  const declared = declaredPrivileges(context, roles);
  const names = new Map<string, string>();
  for (const name of builtIn) names.set(fold(name), name);
  for (const [folded, { name }] of declared) names.set(folded, name);

  const named: Privileges['named'] = (list) => {
    const found = itemsOf(list).flatMap((item) => {
      const written = textOf(item);
      if (written === undefined) return [];
      const name = names.get(fold(written));
      if (name !== undefined) return [name];
      const help = context.suggest(written, names.values());
      context.report('roles/unknown-privilege', { name: written }, item, help);
      return [];
    });
    return [...new Set(found)];
  };

  for (const { includes } of declared.values()) for (const list of includes) named(list);
  checkCycles(context, declared);
  const all = [...declared.values()].map((privilege) => ({
    name: privilege.name,
    includes: allIncluded(declared, names, privilege),
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
    else declared.set(fold(name), { name, includes });
  }
  return declared;
}

interface Walk {
  readonly context: Context;
  readonly declared: ReadonlyMap<string, Privilege>;
  readonly done: Set<Privilege>;
  /** Those that lead here, in order. */
  readonly open: Privilege[];
}

function checkCycles(context: Context, declared: ReadonlyMap<string, Privilege>): void {
  const walk: Walk = { context, declared, done: new Set(), open: [] };
  for (const privilege of declared.values()) visit(walk, privilege);
}

function visit(walk: Walk, privilege: Privilege): void {
  const { context, declared, done, open } = walk;
  if (done.has(privilege)) return;
  open.push(privilege);
  for (const item of privilege.includes.flatMap(itemsOf)) {
    const included = declared.get(fold(textOf(item) ?? ''));
    if (included === undefined) continue;
    const start = open.indexOf(included);
    if (start === -1) visit(walk, included);
    else {
      const circle = [...open.slice(start), included].map(({ name }) => name).join(' > ');
      context.report('roles/include-cycle', { circle }, item);
    }
  }
  open.pop();
  done.add(privilege);
}

/** A privilege and all that it brings along, itself first. */
function allIncluded(
  declared: ReadonlyMap<string, Privilege>,
  names: ReadonlyMap<string, string>,
  privilege: Privilege,
): readonly string[] {
  const found = new Set([privilege.name]);
  // A set goes on over what is added while it is walked.
  for (const name of found) {
    for (const item of declared.get(fold(name))?.includes.flatMap(itemsOf) ?? []) {
      const included = names.get(fold(textOf(item) ?? ''));
      if (included !== undefined) found.add(included);
    }
  }
  return [...found];
}

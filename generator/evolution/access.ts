import { paired } from './renames.js';
import { change, isEqual, listed, type Change } from './change.js';
import type { ClassFunction, DataAccess, Model, Opening } from '../model/model.js';

/** Changes for holders of roles and privileges, and for guests. */
export function roleChanges(older: Model, newer: Model): readonly Change[] {
  const [before, after] = [older.roles, newer.roles];
  if (after === undefined) {
    if (before === undefined) return [];
    const message = 'The model has no roles now: everything is open to everyone.';
    return [change('look', 'opened', 'roles', { message })];
  }
  const changes: Change[] = [];
  if (after.forceLogin && before?.forceLogin !== true) {
    const message = 'A guest can do nothing but log in.';
    changes.push(change('breaks', 'closed', 'roles.forceLogin', { message }));
  }
  const privileges = paired(before?.privileges ?? [], after.privileges);
  for (const { name } of privileges.removed) {
    const message = `The privilege ${name} was removed: users who have it lose its rights.`;
    changes.push(change('breaks', 'privilege-removed', 'roles.privileges', { message }));
  }
  const roles = paired(before?.roles ?? [], after.roles);
  for (const { name } of roles.removed) {
    const message = `The role ${name} was removed: users who have it lose its rights.`;
    changes.push(change('breaks', 'role-removed', 'roles.roles', { message }));
  }
  for (const [from, to] of roles.both) {
    const lost = from.privileges.filter((each) => !to.privileges.includes(each));
    const won = to.privileges.filter((each) => !from.privileges.includes(each));
    if (lost.length > 0) {
      const message = `The role ${to.name} no longer includes ${listed(lost)}.`;
      changes.push(change('breaks', 'closed', 'roles.roles', { message }));
    }
    if (won.length > 0) {
      const message = `The role ${to.name} also includes ${listed(won)}.`;
      changes.push(change('look', 'opened', 'roles.roles', { message }));
    }
  }
  const renamed = [...privileges.both, ...roles.both].filter(([from, to]) => from.name !== to.name);
  for (const [from, to] of renamed) {
    const message = `${from.name} is called ${to.name} now: users who have ${from.name} keep it.`;
    changes.push(change('fine', 'renamed', 'roles', { message }));
  }
  return changes;
}

const actions = ['create', 'read', 'update', 'drop', 'describe'] as const;

/** Access changes of a dataclass or attribute; actions that change in the same way are reported together. */
export function accessChanges(
  label: string,
  path: string,
  [before, after]: readonly [DataAccess | undefined, DataAccess | undefined],
): readonly Change[] {
  const byText = new Map<string, { names: string[]; isClosed: boolean }>();
  for (const action of actions) {
    const from = before?.[action];
    const to = after?.[action];
    // Without `describe`, only readers see it.
    const isDescribe = action === 'describe';
    if (isEqual(from?.toSorted(), to?.toSorted())) continue;
    const isClosed = isDescribe
      ? from !== undefined && from.some((each) => to?.includes(each) !== true)
      : isNarrower(from, to);
    const text = `${isDescribe ? 'seen by' : 'open to'} ${holders(to, isDescribe)}, and ${isDescribe ? 'was' : 'was open to'} ${holders(from, isDescribe)}`;
    const entry = byText.get(text) ?? { names: [], isClosed };
    entry.names.push(action);
    byText.set(text, entry);
  }
  return [...byText].map(([text, { names, isClosed }]) => {
    const message = `${label}: ${listed(names)} is ${text}.`;
    return change(isClosed ? 'breaks' : 'look', isClosed ? 'closed' : 'opened', path, { message });
  });
}

export function functionAccess(
  label: string,
  path: string,
  [before, after]: readonly [ClassFunction, ClassFunction],
): readonly Change[] {
  const promoted = before.promote?.filter((each) => after.promote?.includes(each) !== true) ?? [];
  const demoted =
    promoted.length === 0
      ? []
      : [
          change('breaks', 'closed', path, {
            message: `${label} no longer gives its code ${listed(promoted)}.`,
          }),
        ];
  const from = before.access;
  const to = after.access;
  if (isEqual(from?.toSorted(), to?.toSorted())) return demoted;
  const isClosed = isNarrower(from, to);
  const message = `${label} is open to ${holders(to, false)}, and was open to ${holders(from, false)}.`;
  return [
    ...demoted,
    change(isClosed ? 'breaks' : 'look', isClosed ? 'closed' : 'opened', path, { message }),
  ];
}

/** Whether a requester that was allowed may no longer be. */
function isNarrower(from: Opening | undefined, to: Opening | undefined): boolean {
  if (to === undefined) return false;
  return from === undefined || from.some((each) => !to.includes(each));
}

function holders(opening: Opening | undefined, isDescribe: boolean): string {
  if (opening === undefined) return isDescribe ? 'those who read it' : 'everybody';
  return opening.length === 0 ? 'nobody' : listed(opening);
}

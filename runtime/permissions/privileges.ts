import type { RolesSettings } from '../access/login-module.js';
import { foldName, type PrivilegeSet, type PrivilegeTable } from '../access/session.js';

/** Everyone holds `guest`, so it makes nobody a user; nobody can hold `none` (`model.md#roles`). */
const notHeld = ['guest', 'none'];

/** Kept for administration; a login can grant it without a declaration. */
const administration = 'webadmin';

/** The privileges and roles of a model by their folded names. */
export class DeclaredPrivileges implements PrivilegeTable {
  readonly #included: ReadonlyMap<string, readonly string[]>;
  readonly #roles: ReadonlyMap<string, readonly string[]>;

  constructor({ privileges, roles }: RolesSettings) {
    this.#included = new Map<string, readonly string[]>([
      [administration, [administration]],
      ...privileges.flatMap((privilege) =>
        namesOf(privilege).map((name) => [name, privilege.includes.map(foldName)] as const),
      ),
    ]);
    this.#roles = new Map(
      roles.flatMap((role) =>
        namesOf(role).map((name) => [name, role.privileges.map(foldName)] as const),
      ),
    );
  }

  resolve(names: readonly string[], roles: readonly string[]): PrivilegeSet {
    const given = [
      ...names.map(foldName),
      ...roles.flatMap((role) => this.#roles.get(foldName(role)) ?? []),
    ];
    const granted = given.filter((name) => !notHeld.includes(name));
    const held = new Set(granted.flatMap((name) => this.#included.get(name) ?? []));
    for (const name of notHeld) held.delete(name);
    return held;
  }
}

function namesOf({
  name,
  renamedFrom = [],
}: Pick<RolesSettings['roles'][number], 'name' | 'renamedFrom'>): readonly string[] {
  return [...renamedFrom, name].map(foldName);
}

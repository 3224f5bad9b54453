import type { Opening } from '../protocol/definition.js';
import { foldName, type PrivilegeSet, type PrivilegeTable } from './session.js';

/** The roles of a model, as the generator resolved them; who may do what stands in the definitions. */
export interface RolesSettings {
  /** A guest may log in and read the catalog, and nothing else (protocol section 16.2). */
  readonly forceLogin: boolean;
  /** Every declared privilege and all that it includes, itself first. */
  readonly privileges: readonly (Renamed & { readonly includes: readonly string[] })[];
  readonly roles: readonly (Renamed & { readonly privileges: readonly string[] })[];
}

interface Renamed {
  readonly name: string;
  /** Earlier names, which users may have been given. */
  readonly renamedFrom?: readonly string[];
}

/** Everybody has the first, so that it makes nobody a user; nobody can have the second (protocol decision 30). */
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

function namesOf({ name, renamedFrom = [] }: Renamed): readonly string[] {
  return [...renamedFrom, name].map(foldName);
}

/** Whether privileges open what needs one of a list. */
export function opens(opening: Opening | undefined, held: PrivilegeSet): boolean {
  return opening === undefined || opening.some((name) => held.has(foldName(name)));
}

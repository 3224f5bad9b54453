import type { Random } from '../../support/random-model/random.js';
import type { Entry, RolesFile } from './naive-roles.js';

/** The resources of a roles file. */
export interface Resources {
  readonly dataclasses: Readonly<Record<string, readonly string[]>>;
  /** `ds.now`, `Company.hire` */
  readonly methods: readonly string[];
  /** By singleton. */
  readonly singletons: Readonly<Record<string, readonly string[]>>;
}

const names = ['viewTree', 'editTree', 'Admin', 'x y', 'höhe', 'p6'] as const;

/** A valid roles file: privileges include only later ones, so that there is no circle. */
export function randomRoles(random: Random, resources: Resources): RolesFile {
  const declared = names.slice(0, random.int(1, names.length));
  const builtIn = random.chance(15) ? [random.pick(['Guest', 'NONE'])] : [];
  const all = [...builtIn, ...declared];
  const some = (): string[] => {
    const count = random.pick([1, 1, 1, 2, 3]);
    const found = Array.from({ length: count }, () =>
      random.pick([...declared, ...declared, 'guest', 'none', 'WebAdmin']),
    );
    return [...new Set(found.map((each) => (random.chance(20) ? each.toUpperCase() : each)))];
  };
  const actions = (
    possible: readonly string[],
    chance: number,
  ): Readonly<Record<string, string[]>> =>
    Object.fromEntries(possible.filter(() => random.chance(chance)).map((each) => [each, some()]));
  const entry = (
    type: string,
    applyTo: string,
    possible: readonly string[],
    chance = 50,
  ): readonly Entry[] =>
    random.chance(60) ? [{ applyTo, type, ...actions(possible, chance) }] : [];
  const data = ['create', 'read', 'update', 'drop'];
  return {
    restrictedByDefault: random.chance(30),
    privileges: all.map((privilege, index) => ({
      privilege,
      includes: all.slice(index + 1).filter(() => random.chance(25)),
    })),
    roles: [
      { role: 'Gardener', privileges: some() },
      { role: 'owner', privileges: some() },
    ],
    permissions: {
      allowed: [
        ...(random.chance(50)
          ? [{ applyTo: 'ds', type: 'datastore', ...actions([...data, 'execute'], 40) }]
          : []),
        ...Object.entries(resources.dataclasses).flatMap(([name, attributes]) => [
          ...entry('dataclass', name, [...data, 'execute']),
          ...attributes.flatMap((each) => entry('attribute', `${name}.${each}`, data, 40)),
        ]),
        ...resources.methods.flatMap((each) => entry('method', each, ['execute', 'promote'], 70)),
        ...Object.entries(resources.singletons).flatMap(([name, functions]) => [
          ...entry('singleton', name, ['execute'], 80),
          ...functions.flatMap((each) =>
            entry('singletonMethod', `${name}.${each}`, ['execute'], 80),
          ),
        ]),
      ],
    },
  };
}

/** Privileges that a session is granted, and roles. */
export function randomGrant(
  random: Random,
  { privileges }: RolesFile,
): { readonly privileges: readonly string[]; readonly roles: readonly string[] } {
  const known = [...privileges.map((each) => each.privilege), 'none', 'guest', 'webadmin'];
  return {
    privileges: known.filter(() => random.chance(25)),
    roles: ['GARDENER', 'owner'].filter(() => random.chance(30)),
  };
}

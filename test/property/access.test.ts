import { deepStrictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { describe, it } from 'vitest';
import { checkModel } from '../../generator/check/check-model.js';
import type { Model, Opening } from '../../generator/model/model.js';
import { DeclaredPrivileges } from '../../runtime/permissions/privileges.js';
import { type DataAction, NaiveRoles, type RolesFile } from './access/naive-roles.js';
import { randomGrant, randomRoles, type Resources } from './access/random-roles.js';
import { Random } from '../support/random-model/random.js';
import { sampled } from '../support/long.js';

const model = `
drs: 1
name: orchard
dataclasses:
  Tree:
    attributes:
      ID: { type: integer, key: true }
      species: string
      cost: number
      plot: { to: Plot, inverse: trees }
      plotName: { alias: plot.name }
      label: { computed: string, expression: "upper(species)" }
    functions:
      dataclass: { oldest: { exposed: true } }
      entity: { prune: { exposed: true } }
  Plot:
    attributes:
      ID: { type: integer, key: true }
      name: string
      trees: { to: Tree, many: true, inverse: plot }
datastore: { functions: { now: { exposed: true }, authentify: { exposed: true } } }
singletons: { Press: { functions: { squeeze: { exposed: true }, stop: { exposed: true } } } }
`;

const resources: Resources = {
  dataclasses: {
    Tree: ['ID', 'species', 'cost', 'plot', 'plotName', 'label'],
    Plot: ['ID', 'name', 'trees'],
  },
  methods: ['ds.now', 'ds.authentify', 'Tree.oldest', 'Tree.prune'],
  singletons: { Press: ['squeeze', 'stop'] },
};

const dataActions: readonly DataAction[] = ['create', 'read', 'update', 'drop'];

function checked(roles: RolesFile): Model {
  const { value, problems } = checkModel({
    file: 'model.yaml',
    text: `${model}roles: roles.json\n`,
    readBeside: () => JSON.stringify(roles),
  });
  if (value === undefined) throw new Error(JSON.stringify(problems));
  return value;
}

describe('Roles, resolved at once and read one by one,', () => {
  it('allow the same', () => {
    fc.assert(
      fc.property(fc.noShrink(fc.integer()), (seed) => {
        const random = new Random(seed);
        const file = randomRoles(random, resources);
        const resolved = checked(file);
        for (let session = 0; session < 6; session += 1) {
          compare(resolved, file, randomGrant(random, file));
        }
      }),
      { numRuns: Number(process.env['PROPERTY_RUNS'] ?? sampled(150)) },
    );
  });
});

function compare(
  resolved: Model,
  file: RolesFile,
  grant: { readonly privileges: readonly string[]; readonly roles: readonly string[] },
): void {
  const naive = new NaiveRoles(file);
  const { roles } = resolved;
  if (roles === undefined) throw new Error('The model has no roles.');
  const held = new DeclaredPrivileges(roles).resolve(grant.privileges, grant.roles);
  const real = naive.held(grant.privileges, grant.roles);
  const may = (opening: Opening | undefined): boolean =>
    opening === undefined || opening.some((name) => held.has(name.toLowerCase()));
  const found: Record<string, boolean> = {};
  const expected: Record<string, boolean> = {};
  for (const { name, access, attributes, functions } of resolved.dataclasses) {
    for (const action of dataActions) {
      const needsRead = action === 'update' || action === 'drop';
      const isOpen = may(access?.[action]) && (!needsRead || may(access?.read));
      found[`${action} ${name}`] = isOpen;
      expected[`${action} ${name}`] = naive.mayDo(real, action, name);
      for (const { name: attribute, access: own, kind } of attributes) {
        // Neither is ever written, or holds anything.
        if ((kind === 'alias' || kind === 'aggregate') && action !== 'read') continue;
        if (kind === 'computed' && action === 'drop') continue;
        if (!resources.dataclasses[name]?.includes(attribute)) continue;
        const subject = `${action} ${name}.${attribute}`;
        found[subject] = isOpen && may(own?.[action]) && (action !== 'update' || may(own?.read));
        expected[subject] = naive.mayDoWith(real, action, name, attribute);
      }
    }
    for (const each of [...functions.dataclass, ...functions.entity]) {
      found[`${name}.${each.name}`] = may(each.access);
      expected[`${name}.${each.name}`] = naive.mayExecute(real, name, each.name, 'method');
    }
  }
  for (const each of resolved.functions) {
    found[`ds.${each.name}`] = may(each.access);
    expected[`ds.${each.name}`] = naive.mayExecute(real, 'ds', each.name, 'method');
  }
  for (const { name, functions } of resolved.singletons) {
    for (const each of functions) {
      found[`${name}.${each.name}`] = may(each.access);
      expected[`${name}.${each.name}`] = naive.mayExecute(real, name, each.name, 'singletonMethod');
    }
  }
  deepStrictEqual({ grant, found }, { grant, found: expected });
}

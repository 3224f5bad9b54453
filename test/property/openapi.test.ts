import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkModel } from '../../generator/check/check-model.js';
import { openApi } from '../../generator/emit/openapi/document.js';
import type { Model } from '../../generator/model/model.js';
import { roleNames } from '../../generator/model/role-view.js';
import { rolesServerOf, loggedIn } from '../support/roles-server.js';
import { Client } from '../support/cookies.js';
import { NaiveRoles, type RolesFile } from './access/naive-roles.js';
import { randomRoles, type Resources } from './access/random-roles.js';
import { Random } from '../support/random-model/random.js';
import { sampled } from '../support/long.js';

// No name is a word of the protocol.
const model = `
drs: 1
name: orchard
dataclasses:
  Quince:
    table: quinces_table
    collectionName: QuinceCollection
    attributes:
      quinceKey: { type: integer, key: true, column: quince_column }
      species: { type: string, enum: [enumOfSpecies] }
      price: { type: number, unique: true }
      tally: { type: string, pattern: patternOfTally, maxLength: 7 }
      grove: { to: Plot, inverse: quinces, foreignKey: groveNumber }
      groveNumber: uuid
      groveTitle: { alias: grove.epithet }
      shouted: { computed: string, expression: "upper(species)" }
      picture: image
    functions:
      dataclass: { oldest: { exposed: true, returns: Quince }, moved: { exposed: true, params: { destination: Plot }, returns: 'Plot[]' } }
      selection: { counted: { exposed: true, onHTTPGet: true, returns: Plot.selection } }
      entity: { prune: { exposed: true, params: { depth: integer } } }
  Plot:
    attributes:
      plotKey: { type: uuid, key: true }
      epithet: { type: string, mandatory: true }
      quinces: { to: Quince, many: true, inverse: grove }
      closedToAll: { type: string, exposed: false }
  Cellar:
    exposed: false
    attributes: { cellarKey: { type: integer, key: true } }
datastore: { functions: { chimes: { exposed: true, params: { inPlot: Plot } }, authentify: { exposed: true } } }
singletons: { Press: { functions: { squeeze: { exposed: true, returns: Quince }, halts: { exposed: true } } } }
`;

/** By dataclass, the words that only the reader of an attribute may meet, and its target. */
const attributes: Readonly<
  Record<string, Readonly<Record<string, { readonly words?: string; readonly target?: string }>>>
> = {
  Quince: {
    quinceKey: {},
    species: { words: 'enumOfSpecies' },
    price: {},
    tally: { words: 'patternOfTally' },
    grove: { target: 'Plot' },
    groveNumber: {},
    groveTitle: {},
    shouted: {},
    picture: {},
  },
  Plot: { plotKey: {}, epithet: {}, quinces: { target: 'Quince' } },
};

const methods: readonly (readonly [owner: string, name: string, parameters: string])[] = [
  ['Quince', 'oldest', ''],
  ['Quince', 'moved', 'destination'],
  ['Quince', 'counted', ''],
  ['Quince', 'prune', 'depth'],
  ['ds', 'chimes', 'inPlot'],
  ['ds', 'authentify', ''],
];

const resources: Resources = {
  dataclasses: Object.fromEntries(
    Object.entries(attributes).map(([name, own]) => [name, Object.keys(own)]),
  ),
  methods: methods.map(([owner, name]) => `${owner}.${name}`),
  singletons: { Press: ['squeeze', 'halts'] },
};

/** Names that are in no document at all. */
const alwaysHidden = [
  'quinces_table',
  'quince_column',
  'QuinceCollection',
  'closedToAll',
  'Cellar',
];

function checked(roles: RolesFile): Model {
  const { value, problems } = checkModel({
    file: 'model.yaml',
    text: `${model}roles: roles.json\n`,
    readBeside: () => JSON.stringify(roles),
  });
  if (value === undefined) throw new Error(JSON.stringify(problems));
  return value;
}

/** What the holder of a role may see and may not see, by the roles file as it is written. */
function namesFor(file: RolesFile, role: string): Readonly<Record<'seen' | 'hidden', string[]>> {
  const naive = new NaiveRoles(file);
  const held = naive.held([], role === 'guest' ? [] : [role]);
  const names: Readonly<Record<'seen' | 'hidden', string[]>> = { seen: [], hidden: [] };
  const put = (name: string, isSeen: boolean): void => {
    names[isSeen ? 'seen' : 'hidden'].push(name);
  };
  for (const [dataclass, own] of Object.entries(attributes)) {
    const called = methods.filter(
      ([owner, name]) => owner === dataclass && naive.mayExecute(held, owner, name, 'method'),
    );
    const isUsed = naive.mayDo(held, 'read', dataclass) || naive.mayDo(held, 'create', dataclass);
    if (isUsed || called.length === 0) put(dataclass, isUsed);
    for (const [name, { words, target }] of Object.entries(own)) {
      const isReached = target === undefined || naive.mayDo(held, 'read', target);
      const isRead = isReached && naive.mayDoWith(held, 'read', dataclass, name);
      const isNamed = isRead || (isReached && naive.mayDoWith(held, 'create', dataclass, name));
      // A foreign key is set with its relation, and not without.
      if (isRead || !isNamed) put(name, isNamed);
      if (words !== undefined && !isNamed) put(words, false);
    }
  }
  for (const [owner, name, parameters] of methods) {
    const isCalled = naive.mayExecute(held, owner, name, 'method');
    if (!isCalled) put(name, false);
    if (!isCalled && parameters !== '') put(parameters, false);
  }
  for (const name of ['squeeze', 'halts']) {
    put(name, naive.mayExecute(held, 'Press', name, 'singletonMethod'));
  }
  return names;
}

const seeds =
  process.env['PROPERTY_SEED'] === undefined
    ? fc.integer()
    : fc.constant(Number(process.env['PROPERTY_SEED']));

describe('The OpenAPI document of a role', () => {
  it('names what the role may use, and nothing else', () => {
    fc.assert(
      fc.property(fc.noShrink(seeds), (seed) => {
        const file = randomRoles(new Random(seed), resources);
        const resolved = checked(file);
        for (const role of roleNames(resolved)) {
          const text = JSON.stringify(openApi(resolved, role));
          const { seen, hidden } = namesFor(file, role);
          const words = new Set(text.match(/\w+/g));
          expect([...hidden, ...alwaysHidden].filter((name) => words.has(name))).toEqual([]);
          expect(seen.filter((name) => !words.has(name))).toEqual([]);
        }
      }),
      { numRuns: Number(process.env['PROPERTY_RUNS'] ?? sampled(25)) },
    );
  });

  it('is the one that the server gives to a session with the role', async () => {
    await fc.assert(
      fc.asyncProperty(fc.noShrink(seeds), async (seed) => {
        const resolved = checked(randomRoles(new Random(seed), resources));
        const app = await rolesServerOf(resolved);
        try {
          for (const role of roleNames(resolved)) {
            const client =
              role === 'guest' ? new Client(app) : await loggedIn(app, { roles: [role] });
            const { body } = await client.get('/rest/$openapi');
            expect(body).toBe(JSON.stringify(openApi(resolved, role)));
          }
        } finally {
          await app.close();
        }
      }),
      { numRuns: Number(process.env['PROPERTY_ROLES'] ?? sampled(4)) },
    );
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkModel } from '../../generator/check/check-model.js';
import type { Model } from '../../generator/model/model.js';
import { accessTrial } from '../support/access-trial.js';
import type { RolesFile } from './access/naive-roles.js';
import { randomRoles, type Resources } from './access/random-roles.js';
import { servedModel, servedResources } from './access/served-model.js';
import { randomModel } from '../support/random-model/random-model.js';
import { Random } from '../support/random-model/random.js';
import { yamlOf } from '../support/random-model/yaml.js';
import { sampled } from '../support/long.js';

/** `PROPERTY_ACCESS=100` looks further than the ordinary run; `PROPERTY_SEED=<counterexample>` runs one model again. */
const models = Number(process.env['PROPERTY_ACCESS'] ?? sampled(2));
const onlySeed = process.env['PROPERTY_SEED'];

const functions = `
    functions:
      dataclass: { oldest: { exposed: true, onHTTPGet: true }, inner: {} }
      selection: { total: { exposed: true } }
      entity: { rename: { exposed: true, params: { name: string } } }
`;

/** Letter comes last, so it gets the functions. */
const withFunctions = `${servedModel.trimEnd()}${functions}datastore:
  functions: { now: { exposed: true }, authentify: { exposed: true } }
singletons: { Press: { functions: { squeeze: { exposed: true }, stop: { exposed: true } } } }
`;

const resources: Resources = {
  ...servedResources,
  methods: ['Letter.oldest', 'Letter.total', 'Letter.rename', 'ds.now', 'ds.authentify'],
  singletons: { Press: ['squeeze', 'stop'] },
};

describe('The access test of a server', () => {
  it('finds no fault, whatever the model and its roles', { timeout: 3_600_000 }, async () => {
    const seeds = onlySeed === undefined ? fc.integer() : fc.constant(Number(onlySeed));
    await fc.assert(fc.asyncProperty(fc.noShrink(seeds), tryOneModel), {
      numRuns: onlySeed === undefined ? models : 1,
    });
  });
});

async function tryOneModel(seed: number): Promise<void> {
  const random = new Random(seed);
  const drawn = random.chance(50) ? undefined : randomModel(random).model;
  const text =
    drawn === undefined
      ? `${withFunctions}roles: roles.json\n`
      : JSON.stringify({ ...(JSON.parse(yamlOf(drawn)) as object), roles: 'roles.json' });
  const roles = randomRoles(random, drawn === undefined ? resources : resourcesOf(drawn));
  const file = { ...roles, forceLogin: random.chance(10) };
  const { deviations } = await accessTrial(checked(text, file), { requests: 8000 });
  const found = Object.entries(deviations).filter(([, list]) => list.length > 0);
  expect(found, `${text}\n${JSON.stringify(file)}`).toEqual([]);
}

function resourcesOf({ dataclasses }: Model): Resources {
  return {
    dataclasses: Object.fromEntries(
      dataclasses.map(({ name, attributes }) => [name, attributes.map((each) => each.name)]),
    ),
    methods: [],
    singletons: {},
  };
}

function checked(text: string, roles: RolesFile): Model {
  const { value, problems } = checkModel({
    file: 'model.yaml',
    text,
    readBeside: () => JSON.stringify(roles),
  });
  if (value === undefined) throw new Error(`${JSON.stringify(problems)}\n${text}`);
  return value;
}

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import type { FastifyInstance } from 'fastify';
import { expect, it } from 'vitest';
import type { Model } from '../../generator/model/model.js';
import { load, opened, serving } from './memory/load.js';
import { Store } from './memory/store.js';
import { Random } from '../support/random-model/random.js';
import { randomModel } from '../support/random-model/random-model.js';
import { addressOf, type ReadRequest } from './requests/request.js';
import { requests } from './requests/random-request.js';
import { sampled } from '../support/long.js';

const models = Number(process.env['PROPERTY_MODELS'] ?? sampled(2));
const requestsPerModel = Number(process.env['PROPERTY_REQUESTS'] ?? sampled(50));

interface Collection {
  readonly __COUNT: number;
  readonly __FIRST: number;
  readonly __ENTITIES: readonly Readonly<Record<string, unknown>>[];
}

interface Explained extends Collection {
  readonly __queryPlan?: object;
  readonly __queryPath?: { readonly steps: readonly { readonly recordsfounds: number }[] };
}

interface Report {
  readonly __COUNT: number;
  readonly __FIRST: number;
  readonly schema: readonly { readonly name: string; readonly dataType: string }[];
  readonly rows: readonly { readonly values: readonly unknown[] }[];
  readonly filtersApplied: boolean;
}

it('A report holds the values of the collection, and the query path has the counts of the answer', async () => {
  await fc.assert(fc.asyncProperty(fc.noShrink(fc.integer()), compareOneModel), {
    numRuns: models,
  });
}, 3_600_000);

async function compareOneModel(seed: number): Promise<void> {
  const random = new Random(seed);
  const { model, computes } = randomModel(random);
  // Another test may draw the same model, and remove its server.
  const store = new Store({ model: { ...model, name: 'forms' }, computes });
  const folder = mkdtempSync(join(tmpdir(), 'drs-forms-'));
  const databaseUrl = `sqlite:${join(folder, 'data.sqlite')}`;
  try {
    await serving(opened(store.model), databaseUrl, (app) => load(app, store, random));
    await serving(store.model, databaseUrl, async (app) => {
      const several = requests(store).filter(
        ({ entity, relation }) => entity === undefined || relation !== undefined,
      );
      const property = fc.asyncProperty(several, async (request) => {
        const collection = await plain(app, request);
        if (collection === undefined) return;
        await compareReport(app, store.model, request, collection);
        await compareExplained(app, request, collection);
      });
      await fc.assert(property, { seed, numRuns: requestsPerModel });
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The request as one for whole entities; none where it is refused. */
async function plain(app: FastifyInstance, request: ReadRequest): Promise<Collection | undefined> {
  const { statusCode, body } = await app.inject(addressOf(whole(request)));
  expect(statusCode, body).toBeLessThan(500);
  return statusCode === 200 ? (JSON.parse(body) as Collection) : undefined;
}

function whole(request: ReadRequest): ReadRequest {
  return {
    ...request,
    attributes: undefined,
    expand: undefined,
    inPath: undefined,
    asArray: undefined,
  };
}

async function compareReport(
  app: FastifyInstance,
  { reportFormat }: Model,
  request: ReadRequest,
  { __COUNT, __FIRST, __ENTITIES }: Collection,
): Promise<void> {
  const url = more(addressOf(whole(request)), `$format=${reportFormat}`);
  const { statusCode, body } = await app.inject(url);
  expect(statusCode, `${url} ${body}`).toBe(200);
  const report = JSON.parse(body) as Report;
  expect(report, url).toEqual({
    __COUNT,
    __FIRST,
    schema: report.schema,
    rows: __ENTITIES.map((entity) => ({
      values: report.schema.map(({ name, dataType }) => {
        const value = entity[name];
        // A decimal is a number in a report.
        if (dataType === 'NUMBER' && typeof value === 'string') return Number(value);
        return typeof value === 'boolean' ? String(value) : value;
      }),
    })),
    filtersApplied: request.filter !== undefined,
  });
  for (const [index, { dataType }] of report.schema.entries()) {
    const type = dataType === 'NUMBER' ? 'number' : 'string';
    for (const { values } of report.rows) expect([null, type]).toContain(kindOf(values[index]));
  }
}

function kindOf(value: unknown): string | null {
  return value === null ? null : typeof value;
}

async function compareExplained(
  app: FastifyInstance,
  request: ReadRequest,
  collection: Collection,
): Promise<void> {
  const url = more(addressOf(whole(request)), '$queryplan=true&$querypath=true');
  const { statusCode, body } = await app.inject(url);
  expect(statusCode, `${url} ${body}`).toBe(200);
  const { __queryPlan, __queryPath, ...rest } = JSON.parse(body) as Explained;
  expect(rest, url).toEqual(collection);
  expect(__queryPlan, url).toBeTypeOf('object');
  expect(__queryPath?.steps[0]?.recordsfounds, url).toBe(collection.__COUNT);
}

function more(address: string, parameters: string): string {
  return `${address}${address.includes('?') ? '&' : '?'}${parameters}`;
}

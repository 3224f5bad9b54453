import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { fixedEvents } from '../support/fixed-events.js';
import { functionServer } from '../support/function-server.js';
import { ask } from '../support/ask.js';
import { changeableServer, filledServer, moment } from '../support/staff-fixture.js';
import { isLong } from '../support/long.js';
import { restoredServer } from '../support/restored-server.js';
import { isOnPostgres } from '../support/server.js';
import type { Row } from '../support/row.js';
import { accessRows, accessServer, headersOf } from './rows/access.js';
import { restrictedWriteRows, restrictRows, restrictServer } from './rows/restrict.js';
import { aggregateRows } from './rows/aggregates.js';
import { batchRows } from './rows/batches.js';
import { bodyRows } from './rows/bodies.js';
import { cursorRows } from './rows/cursors.js';
import { catalogRows } from './rows/catalog.js';
import { computedRows, filledComputedServer } from './rows/computed.js';
import { deleteRows } from './rows/deletes.js';
import { changeRows } from './rows/changes.js';
import { conditionRows } from './rows/conditions.js';
import { envelopeRows } from './rows/envelopes.js';
import { errorRows } from './rows/errors.js';
import { expansionRows } from './rows/expansions.js';
import { eventRows } from './rows/events.js';
import { filterRows } from './rows/filters.js';
import { functionRows } from './rows/functions.js';
import { groupRows } from './rows/groups.js';
import { mediaRows } from './rows/media.js';
import { nestedRows } from './rows/nested.js';
import { orderRows } from './rows/orders.js';
import { projectionRows } from './rows/projections.js';
import { reportRows } from './rows/reports.js';
import { requestRows } from './rows/requests.js';
import { sessionRows } from './rows/sessions.js';
import { setRows } from './rows/sets.js';
import { valueRows } from './rows/values.js';
import { upsertRows } from './rows/upserts.js';
import { vectorRows } from './rows/vectors.js';
import { updateRows } from './rows/updates.js';
import { writeRows } from './rows/writes.js';

const tables: Readonly<Record<string, readonly Row[]>> = {
  requests: requestRows,
  errors: errorRows,
  envelopes: envelopeRows,
  values: valueRows,
  filters: filterRows,
  orders: orderRows,
  vectors: vectorRows,
  projections: projectionRows,
  expansions: expansionRows,
  cursors: cursorRows,
  sets: setRows,
  aggregates: aggregateRows,
  groups: groupRows,
  reports: reportRows,
  catalog: catalogRows,
  writes: writeRows,
  updates: updateRows,
  conditions: conditionRows,
  upserts: upsertRows,
  changes: changeRows,
  batches: batchRows,
  nested: nestedRows,
  deletes: deleteRows,
  bodies: bodyRows,
  media: mediaRows,
  sessions: sessionRows,
};

const rows = Object.values(tables).flat();

/** Rows that need fresh data: `npm test` tries a fifth of them on PostgreSQL. */
function fresh<T>(all: readonly T[]): readonly T[] {
  return isLong || !isOnPostgres ? all : all.filter((_, index) => index % 5 === 0);
}

vi.useFakeTimers({ toFake: ['Date'], now: new Date(moment) });
afterAll(() => {
  vi.useRealTimers();
});

function isRead(row: Row): boolean {
  return row.request.method !== 'POST';
}

/** A server with how it is closed, as other fixtures have it. */
function closable(create: () => Promise<FastifyInstance>): () => Promise<Served> {
  return async () => {
    const app = await create();
    return { app, close: () => app.close() };
  };
}

interface Served {
  readonly app: FastifyInstance;
  readonly close: () => Promise<void>;
}

/** Sends the requests of a row, one after the other. */
async function askAll(
  app: FastifyInstance,
  { request, expect: expected, then = [] }: Row,
  headers?: Readonly<Record<string, string>>,
): Promise<void> {
  const sent = headers === undefined ? {} : { headers };
  for (const [next, answer] of [[request, expected] as const, ...then]) {
    await ask(app, { ...next, ...sent }, answer);
  }
}

it('Each row has an ID of its own', () => {
  const ids = [
    ...rows,
    ...functionRows,
    ...eventRows,
    ...computedRows,
    ...accessRows,
    ...restrictRows,
    ...restrictedWriteRows,
  ].map((row) => row.id);
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
});

describe('A read', () => {
  let app: FastifyInstance;
  let close: () => Promise<void>;

  beforeAll(async () => {
    ({ app, close } = await filledServer());
  });
  afterAll(() => close());

  for (const [name, table] of Object.entries(tables)) {
    const reads = table.filter(isRead);
    if (reads.length === 0) continue;
    describe(name, () => {
      it.each(reads)('$id: $says', (row) => askAll(app, row));
    });
  }
});

/** Rows that change nothing share a server. */
const sharing = rows.filter((row) => !isRead(row) && isRefused(row));

function isRefused({ expect: { status = 200 }, then = [] }: Row): boolean {
  const changes = then.filter(([{ method }, { status: next = 200 }]) => {
    return method === 'POST' && next < 400;
  });
  return status >= 400 && changes.length === 0;
}

describe('refused changes', () => {
  let app: FastifyInstance;
  let close: () => Promise<void>;

  beforeAll(async () => {
    ({ app, close } = await changeableServer());
  });
  afterAll(() => close());

  it.each(sharing)('$id: $says', (row) => askAll(app, row));
});

const changes = rows.filter((row) => !isRead(row) && !sharing.includes(row));

describe.each<[string, readonly Row[], () => Promise<Served>]>([
  ['A change on fresh data', changes, changeableServer],
  ['A function call on fresh data', functionRows, closable(functionServer)],
  ['A request to a server with events', eventRows, fixedEvents],
  [
    'A request to a server whose attributes have accessors',
    computedRows,
    closable(filledComputedServer),
  ],
])('%s', (_title, all, create) => {
  const server = restoredServer(create);

  it.each(fresh(all))('$id: $says', async (row) => {
    const { app, close } = await server();
    try {
      await askAll(app, row);
    } finally {
      await close();
    }
  });
});

describe('A request to a server with roles', () => {
  const server = restoredServer(closable(accessServer));

  it.each(fresh(accessRows))('$id: $says', async (row) => {
    const { app, close } = await server();
    try {
      await askAll(app, row, await headersOf(app, row));
    } finally {
      await close();
    }
  });
});

describe('A request to a server whose dataclasses have restrict', () => {
  const ofReads = restoredServer(() => restrictServer(false));
  const ofWrites = restoredServer(() => restrictServer(true));

  it.each([
    ...restrictRows.map((row) => ({ ...row, server: ofReads })),
    ...restrictedWriteRows.map((row) => ({ ...row, server: ofWrites })),
  ])('$id: $says', async ({ server, ...row }) => {
    const { app, headers, close } = await server();
    try {
      await askAll(app, row, headers);
    } finally {
      await close();
    }
  });
});

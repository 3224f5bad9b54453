import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, it, vi } from 'vitest';
import { describePostgres } from '../support/postgres.js';
import { ask } from '../support/ask.js';
import { moment, serversInTurn } from '../support/staff-fixture.js';
import type { Row } from '../support/row.js';
import { aggregateRows } from './rows/aggregates.js';
import { batchRows } from './rows/batches.js';
import { bodyRows } from './rows/bodies.js';
import { catalogRows } from './rows/catalog.js';
import { deleteRows } from './rows/deletes.js';
import { envelopeRows } from './rows/envelopes.js';
import { errorRows } from './rows/errors.js';
import { filterRows } from './rows/filters.js';
import { mediaRows } from './rows/media.js';
import { orderRows } from './rows/orders.js';
import { projectionRows } from './rows/projections.js';
import { reportRows } from './rows/reports.js';
import { requestRows } from './rows/requests.js';
import { sessionRows } from './rows/sessions.js';
import { setRows } from './rows/sets.js';
import { updateRows } from './rows/updates.js';
import { valueRows } from './rows/values.js';
import { vectorRows } from './rows/vectors.js';
import { writeRows } from './rows/writes.js';

vi.hoisted(() => {
  process.env['TEST_DATABASE'] = 'postgres';
});
vi.useFakeTimers({ toFake: ['Date'], now: new Date(moment) });

const isRead = ({ request: { method } }: Row): boolean => method !== 'POST';

const remembered = [...setRows, ...sessionRows, ...mediaRows];
const others = [
  ...[requestRows, errorRows, envelopeRows, valueRows, filterRows, orderRows, vectorRows],
  ...[projectionRows, aggregateRows, reportRows, catalogRows, writeRows, updateRows, batchRows],
  ...[deleteRows, bodyRows],
].flat();
// Every row that changes something has servers of its own.
const changes = [...remembered, ...others].filter((row) => !isRead(row));

describePostgres('Three servers that get requests in turn, on PostgreSQL', () => {
  describe('answer a read as one does', () => {
    let app: FastifyInstance;
    let close: () => Promise<void>;

    beforeAll(async () => {
      ({ app, close } = await serversInTurn(3));
    });
    afterAll(() => close());

    it.each([...remembered, ...others].filter(isRead))('$id: $says', async (row) => {
      await ask(app, row.request, row.expect);
      for (const [next, answer] of row.then ?? []) await ask(app, next, answer);
    });
  });

  describe('answer a change as one does', () => {
    it.each(changes)('$id: $says', async (row) => {
      const { app, close } = await serversInTurn(3);
      try {
        await ask(app, row.request, row.expect);
        for (const [next, answer] of row.then ?? []) await ask(app, next, answer);
      } finally {
        await close();
      }
    });
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EventedServer, eventedServer } from '../../support/evented-server.js';

type Json = Readonly<Record<string, unknown>>;

let server: EventedServer;
beforeAll(async () => {
  server = await eventedServer();
  server.handlers.Company = {
    saving: (entity) => {
      entity['code'] = `code of ${String(entity['name'])}`;
    },
  };
});
afterAll(() => server.close());

/** The statement that begins a transaction, and the one that ends it. */
const ofTransaction = 2;

/**
 * Saves an entity, and returns the answer and how many statements the database runs: those that the
 * executor reports, and the begin and the commit of the transaction. The statement that raises the
 * global stamp, which is sent with the commit, and the savepoints that PostgreSQL needs behind each
 * change are not counted: saves without events have them, too.
 */
async function saved(body: Json): Promise<{ readonly answer: Json; readonly statements: number }> {
  server.sql.length = 0;
  const { json, statusCode } = await server.app.inject({
    method: 'POST',
    url: '/rest/Company?$method=update',
    payload: JSON.stringify(body),
  });
  expect(statusCode).toBe(200);
  return { answer: json(), statements: server.sql.length + ofTransaction };
}

describe('A save with events', () => {
  it('creates an entity with five statements: it is stored, read by its events, and answered', async () => {
    const { answer, statements } = await saved({ name: 'one' });
    expect(answer['code']).toBe('code of one');
    expect(statements).toBe(5);
  });

  it('changes an entity with six statements: it is read before', async () => {
    const { answer } = await saved({ name: 'two' });
    const { __KEY, __STAMP } = answer;
    const { answer: changed, statements } = await saved({ __KEY, __STAMP, name: 'three' });
    expect(changed['code']).toBe('code of three');
    expect(statements).toBe(6);
  });

  it('needs no more statements for an entity that is sent as it was read', async () => {
    const { answer } = await saved({ name: 'four' });
    const { statements } = await saved({ ...answer, size: 3 });
    expect(statements).toBe(6);
  });
});

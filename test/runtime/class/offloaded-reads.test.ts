import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { Placement } from '../../../runtime/dialect/sqlite/readers/placement.js';
import { isOnPostgres } from '../../support/server.js';
import { EventedClient } from '../../support/evented-requests.js';
import { type EventedServer, eventedServer } from '../../support/evented-server.js';

let server: EventedServer;
let client: EventedClient;
beforeAll(async () => {
  server = await eventedServer();
  client = new EventedClient(server);
});
afterAll(() => server.close());

// On a busy machine any read may be slow and offloaded, so servers of these tests need the reader
// program, too.
it.skipIf(isOnPostgres)('A server of these tests has reader processes', async () => {
  await client.create('Company', [{ name: 'a' }, { name: 'b' }]);
  const isOffloaded = vi.spyOn(Placement.prototype, 'isOffloaded').mockReturnValue(true);
  const record = vi.spyOn(Placement.prototype, 'record');
  try {
    expect(await client.stored('Company')).toMatchObject([{ name: 'a' }, { name: 'b' }]);
    expect(await client.count('Company')).toBe(2);
    const companies = await server.ds.Company.query('name = :1', 'b').toArray();
    expect(companies.map((company) => company['name'])).toEqual(['b']);
    expect(record).toHaveBeenCalled();
  } finally {
    isOffloaded.mockRestore();
    record.mockRestore();
  }
});

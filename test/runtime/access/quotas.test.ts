import { afterEach, describe, expect, it } from 'vitest';
import { readServerQuotas } from '../../../runtime/access/quotas.js';
import { Client } from '../../support/cookies.js';
import { type SessionServer, sessionServer } from './session-server.js';

let server: SessionServer;
let client: Client;

async function start(options: Parameters<typeof sessionServer>[0] = {}): Promise<void> {
  server = await sessionServer(options);
  client = new Client(server.app);
}

afterEach(() => server.app.close());

const user = '/rest/$directory/currentUser';

async function statuses(count: number, by = client): Promise<readonly number[]> {
  const found = [];
  for (let i = 0; i < count; i += 1) found.push((await by.get(user)).statusCode);
  return found;
}

describe('The quotas of the server', () => {
  it('limit the requests of all clients, until the minute is over', async () => {
    await start({ quotas: { nbRequestsPerMin: 3 } });
    expect(await statuses(2)).toEqual([200, 200]);
    expect(await statuses(2, new Client(server.app))).toEqual([200, 429]);
    server.clock.freeze(20_000);
    const refused = await client.get(user);
    expect(refused.headers['retry-after']).toBe('40');
    expect(refused.json<{ __ERROR: { errCode: number }[] }>().__ERROR[0]?.errCode).toBe(1844);
    server.clock.freeze(40_000);
    expect(await statuses(4)).toEqual([200, 200, 200, 429]);
  });

  it('are separate for each session', async () => {
    await start({ quotas: { nbRequestsPerMinPerSession: 2 } });
    server.work['keep'] = (session) => session.keep();
    const other = new Client(server.app);
    await client.post('/rest/work/keep');
    await other.post('/rest/work/keep');
    expect(await statuses(3)).toEqual([200, 200, 429]);
    expect(await statuses(3, other)).toEqual([200, 200, 429]);
    expect(await statuses(3, new Client(server.app))).toEqual([200, 200, 200]);
  });

  it('are validated strictly', async () => {
    await start();
    for (const [text, message] of [
      ['{', /QUOTAS is not JSON/],
      ['[]', /JSON object/],
      ['{"nbRequestsPerMin":0}', /QUOTAS: nbRequestsPerMin must be a positive/],
      ['{"nbRequestsPerMin":"5"}', /positive/],
      ['{"nbRequests":5}', /holds "nbRequests"/],
      ['{"outBytesPerHour":5}', /holds "outBytesPerHour"; it may hold nbRequestsPerMin,/],
      ['{"__proto__":5}', /holds "__proto__"/],
    ] as const) {
      expect(() => readServerQuotas(text, 'QUOTAS')).toThrow(message);
    }
    expect(readServerQuotas('', 'QUOTAS')).toEqual({
      ofServer: {},
      ofSession: {},
      ofGuestAddress: {},
    });
    expect(readServerQuotas('{"nbEntitySetsPerSession":3,"nbRequestsPerMin":9}', 'Q')).toEqual({
      ofServer: { nbRequestsPerMin: 9 },
      ofSession: { nbEntitySets: 3 },
      ofGuestAddress: {},
    });
    const text = '{"nbRequestsPerMinPerGuestAddress":5}';
    expect(readServerQuotas(text, 'Q').ofGuestAddress).toEqual({ nbRequestsPerMin: 5 });
  });
});

describe('The quotas of a session', () => {
  it('are set by class code, and reported together with the use', async () => {
    await start();
    server.work['limit'] = ({ quotas }) => {
      quotas.nbRequestsPerMin = 2;
      return quotas.nbRequestsPerMin;
    };
    server.work['used'] = ({ quotas }) => quotas.currentValues;
    server.work['free'] = ({ quotas }) => {
      quotas.nbRequestsPerMin = undefined;
    };
    expect((await client.post('/rest/work/limit')).json()).toEqual({ result: 2 });
    expect((await client.post('/rest/work/used')).json()).toEqual({
      result: { nbRequestsPerMin: 1 },
    });
    expect(await statuses(2)).toEqual([200, 429]);
    server.clock.freeze(60_000);
    await client.post('/rest/work/free');
    expect(await statuses(4)).toEqual([200, 200, 200, 200]);
  });

  it('count what the guest has sent who becomes a user', async () => {
    await start();
    server.work['limit'] = ({ quotas }) => {
      quotas.nbRequestsPerMin = 3;
    };
    await client.post('/rest/work/limit');
    expect(await statuses(1)).toEqual([200]);
    const login = await client.post('/rest/$directory/login', ['mia', 'right']);
    expect(login.statusCode).toBe(200);
    expect(await statuses(2)).toEqual([200, 429]);
  });

  it('that are invalid do not replace the old ones', async () => {
    await start();
    server.work['try'] = ({ quotas, id }) => {
      const before = id;
      const refused = [0, -1, 1.5, NaN, Infinity, '5' as unknown as number].map((value) => {
        try {
          quotas.nbEntitySets = value;
          return false;
        } catch (error) {
          return error instanceof RangeError;
        }
      });
      quotas.nbEntitySets = 4;
      return [refused.every(Boolean), before, quotas.nbEntitySets, Object.keys(quotas).length];
    };
    expect((await client.post('/rest/work/try')).json()).toEqual({ result: [true, null, 4, 5] });
  });
});

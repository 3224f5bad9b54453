import { type AddressInfo, createServer } from 'node:net';
import { Writable } from 'node:stream';
import { context, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { compiledProgram } from '../../support/processes/program.js';
import { Scratch } from '../../support/processes/scratch.js';
import { Client } from '../../support/cookies.js';
import { describeDatabases } from '../../support/databases.js';
import type { TestDatabase } from '../../support/postgres.js';
import { loggedIn, rolesServerOf } from '../../support/roles-server.js';
import { modelOf, serverOf } from '../../support/server.js';

const model = `
drs: 1
name: staff
dataclasses:
  Person:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: string
`;
const roles = `
roles:
  restrictedByDefault: false
  privileges: [{ privilege: read }]
  permissions:
    allowed:
      - { applyTo: Person, type: dataclass, read: [read], create: [read], update: [read], drop: [read] }
`;
const update = '/rest/Person?$method=update';

type Line = Readonly<Record<string, unknown>>;

/** A logger, and the lines that it has written. */
function logged(): {
  readonly logger: { level: string; stream: Writable };
  readonly lines: Line[];
} {
  const lines: Line[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(JSON.parse(String(chunk)) as Line);
      done();
    },
  });
  return { logger: { level: 'info', stream }, lines };
}

describe('REQUEST_LOG=on', () => {
  const { logger, lines } = logged();
  let app: FastifyInstance;
  let client: Client;
  const requests = (): readonly Line[] => lines.filter(({ msg }) => msg === 'request');

  beforeAll(async () => {
    app = await rolesServerOf(model + roles, { logger, environment: { REQUEST_LOG: 'on' } });
    app.get('/never', () => new Promise(() => undefined));
    client = await loggedIn(app, { privileges: ['read'] });
    const people = [{ name: 'Ada' }, { name: 'Bob' }, { name: '","user":"root' }];
    expect((await client.post(update, people)).statusCode).toBe(200);
  });
  afterAll(() => app.close());
  beforeEach(() => {
    lines.length = 0;
  });

  it.each([
    ['/rest/Person', { dataclass: 'Person', kind: 'read', status: 200, rows: 3 }],
    ['/rest/Person?$top=2', { dataclass: 'Person', kind: 'read', status: 200, rows: 2 }],
    ['/rest/Person(1)', { dataclass: 'Person', kind: 'entity', status: 200, rows: 1 }],
    ['/rest/Person(9)', { dataclass: 'Person', kind: 'entity', status: 404 }],
    [
      '/rest/Person?$method=entityset',
      { dataclass: 'Person', kind: 'entityset', status: 200, rows: 3 },
    ],
    ['/rest/Person?$filter="', { dataclass: 'Person', kind: 'read', status: 400 }],
    ['/rest/$catalog', { kind: 'catalog', status: 200 }],
    ['/rest/$openapi', { kind: 'catalog', status: 200 }],
    ['/rest/$info', { kind: 'info', status: 200 }],
    ['/rest/Nothing(1)', { kind: 'unknown', status: 404 }],
    ['/elsewhere', { kind: 'unknown', status: 404 }],
  ])('writes one line for GET %s', async (path, expected) => {
    const answer = await client.get(path);
    await expect.poll(requests).toHaveLength(1);
    const [line] = requests();
    expect(line).toMatchObject({
      level: 30,
      ...expected,
      method: 'GET',
      bytes: Buffer.byteLength(answer.body),
      reqId: answer.headers['x-request-id'],
    });
    expect(line?.['ms']).toBeTypeOf('number');
    expect(line?.['rows']).toBe('rows' in expected ? expected.rows : undefined);
    expect(line?.['dataclass']).toBe('dataclass' in expected ? expected.dataclass : undefined);
    expect(line?.['user']).toBe(path === '/elsewhere' ? undefined : line?.['user']);
  });

  it('names the user, and whether a change saves or deletes', async () => {
    await client.post(update, { name: 'Cid' });
    await client.post('/rest/Person(4)?$method=delete', {});
    await new Client(app).get('/rest/Person');
    await client.post('/rest/$directory/login', ['x', '{', 60]);
    await expect.poll(requests).toHaveLength(4);
    expect(requests()).toMatchObject([
      { user: 'mia', dataclass: 'Person', kind: 'save', status: 200, rows: 1 },
      { user: 'mia', dataclass: 'Person', kind: 'delete', status: 200 },
      { user: '', dataclass: 'Person', kind: 'read', status: 401 },
      { kind: 'directory' },
    ]);
  });

  it('writes how many entities a save of several holds', async () => {
    await client.post(`${update}&$refresh=true`, [{ name: 'x' }, { name: 'y' }]);
    await expect.poll(requests).toMatchObject([{ kind: 'save', rows: 2 }]);
  });

  it('writes no line for /health', async () => {
    for (const path of ['/health', '/health/live', '/health/ready']) await client.get(path);
    await client.get('/rest/Person(1)');
    await expect.poll(requests).toMatchObject([{ kind: 'entity' }]);
  });

  it('says that a client has not waited for its answer', async () => {
    const url = await app.listen({ port: 0 });
    await expect(fetch(`${url}/never`, { signal: AbortSignal.timeout(200) })).rejects.toThrow();
    await expect.poll(requests).toMatchObject([{ kind: 'own', isAborted: true }]);
    expect(requests()[0]).not.toHaveProperty('status');
  });

  it('gives each request an ID of its own, unless it brings one', async () => {
    const ids = new Set<unknown>();
    for (let count = 0; count < 3; count += 1) {
      ids.add((await app.inject('/rest/$catalog')).headers['x-request-id']);
    }
    expect(ids.size).toBe(3);
    for (const id of ids) expect(id).toMatch(/^[0-9A-F]{32}$/);
  });
});

describe('X-Request-Id', () => {
  const { logger, lines } = logged();
  let app: FastifyInstance;

  beforeAll(async () => {
    app = await serverOf(model, { logger });
    app.get('/fails', () => {
      throw new Error('broken');
    });
  });
  afterAll(() => app.close());

  async function answered(id: string, path = '/rest/Person'): Promise<unknown> {
    const { headers } = await app.inject({ url: path, headers: { 'x-request-id': id } });
    return headers['x-request-id'];
  }

  it.each(['/rest/Person', '/rest/Nothing', '/health', '/nowhere'])(
    'comes back with the answer of %s',
    async (path) => {
      const url = app.server.listening ? app.listeningOrigin : await app.listen({ port: 0 });
      const answer = await fetch(url + path, { headers: { 'x-request-id': 'from-proxy:1' } });
      expect(answer.headers.get('x-request-id')).toBe('from-proxy:1');
    },
  );

  it('stands in the log of an error', async () => {
    await answered('proxy-7', '/fails');
    await expect.poll(() => lines.find(({ reqId }) => reqId === 'proxy-7')).toBeDefined();
  });

  it('is random for a request that brings none, and differs between servers', async () => {
    const other = await serverOf(model, { logger });
    other.get('/fails', () => {
      throw new Error('broken');
    });
    lines.length = 0;
    for (const server of [app, other, app]) await server.inject('/fails');
    await other.close();
    const ids = lines.map(({ reqId }) => reqId);
    expect(new Set(ids).size).toBe(3);
    for (const id of ids) expect(id).toMatch(/^[0-9A-F]{32}$/);
  });

  it.each(['', 'a b', '"', 'a'.repeat(129), 'ä', '{"a":1}'])(
    'is ignored if it is no short plain text: %j',
    async (id) => {
      expect(await answered(id)).toBe(undefined);
    },
  );
});

describe('A server', () => {
  it.each([
    [{ REQUEST_LOG: 'yes' }, 'REQUEST_LOG is "yes"; it must be on or off.'],
    [
      { SLOW_QUERY_MS: 'fast' },
      'SLOW_QUERY_MS is "fast"; it must be a whole number of milliseconds, at least 0.',
    ],
    [{ METRICS_PORT: '0' }, 'METRICS_PORT is "0"; it must be a whole number from 1 to 65535.'],
  ])('does not start with %o', async (environment, message) => {
    const begun = async (): Promise<void> => {
      const app = await serverOf(model, { environment });
      await app.ready();
    };
    await expect(begun()).rejects.toThrow(message);
  });

  it('does not start if LOG_LEVEL leaves out the lines of REQUEST_LOG', async () => {
    const environment = { REQUEST_LOG: 'on', LOG_LEVEL: 'warn' };
    const begun = serverOf(model, { environment, logger: undefined });
    await expect(begun).rejects.toThrow('REQUEST_LOG is on, and LOG_LEVEL is warn');
  });
});

describeDatabases('SLOW_QUERY_MS', ({ driver, create }) => {
  const { logger, lines } = logged();
  let database: TestDatabase;
  let app: FastifyInstance;
  const slow = (): readonly Line[] => lines.filter(({ msg }) => msg === 'slow statement');

  beforeAll(async () => {
    database = await create();
    app = await serverOf(
      { ...modelOf(model), databases: [driver] },
      {
        logger,
        databaseUrl: database.url,
        environment: { SLOW_QUERY_MS: '0', STATE: 'database' },
      },
    );
    await app.ready();
    await app.inject({ method: 'POST', url: update, payload: [{ name: 'topsecret' }] });
  });
  afterAll(async () => {
    await app.close();
    await database.drop();
  });
  beforeEach(() => {
    lines.length = 0;
  });

  it('logs a statement, its time and its plan, and no values', async () => {
    const filter = encodeURIComponent('name = topsecret');
    const headers = { 'x-request-id': 'slow-1' };
    const { body } = await app.inject({ url: `/rest/Person?$filter=${filter}`, headers });
    expect(body).toContain('topsecret');
    const planned = (): Line | undefined =>
      slow().find(({ reqId, plan }) => reqId === 'slow-1' && plan !== undefined);
    await expect.poll(planned).toBeDefined();
    const line = planned();
    expect(line).toMatchObject({
      level: 40,
      reqId: 'slow-1',
      dataclass: 'Person',
      kind: 'read',
      ms: expect.any(Number) as number,
      sql: expect.stringContaining('"Person"') as string,
    });
    expect((line?.['plan'] as readonly string[]).join('\n')).toMatch(/scan|search/i);
    expect(JSON.stringify(lines)).not.toContain('topsecret');
  });

  it('logs the plan of a statement at most once a minute', async () => {
    const read = (): Promise<unknown> => app.inject({ url: '/rest/Person(1)' });
    const planned = (): readonly Line[] => slow().filter(({ plan }) => plan !== undefined);
    await read();
    await expect.poll(planned).not.toHaveLength(0);
    const [{ sql: text } = {}] = planned();
    await read();
    await read();
    await expect.poll(() => slow().filter(({ sql }) => sql === text).length).toBeGreaterThan(1);
    expect(planned().filter(({ sql }) => sql === text)).toHaveLength(1);
  });

  it('logs the statements of a change, with its request', async () => {
    await app.inject({
      method: 'POST',
      url: update,
      payload: { name: 'hidden' },
      headers: { 'x-request-id': 'change-1' },
    });
    const isInsert = ({ sql }: Line): boolean => /insert into "Person"/i.test(String(sql));
    await expect
      .poll(() => slow().find(isInsert))
      .toMatchObject({ reqId: 'change-1', kind: 'save' });
    expect(JSON.stringify(lines)).not.toContain('hidden');
  });

  it('logs the statements of the state in the database, and marks them', async () => {
    const headers = { 'x-request-id': 'set-1' };
    await app.inject({ url: '/rest/Person?$method=entityset', headers });
    const ofState = (): readonly Line[] => slow().filter(({ state }) => state === true);
    await expect.poll(ofState).not.toHaveLength(0);
    const [line] = ofState();
    expect(line).toMatchObject({ level: 40, reqId: 'set-1', kind: 'entityset' });
    expect(line?.['sql']).toContain('entityset');
    expect(line).not.toHaveProperty('plan');
    // It comes with its plan, which may take longer.
    const ofModel = (): Line | undefined =>
      slow().find(({ sql, state }) => state === undefined && /"Person"/.test(String(sql)));
    await expect.poll(ofModel).toBeDefined();
  });
});

describe('METRICS_PORT', () => {
  it('is where the durations of requests and statements are, by dataclass and kind', async () => {
    const port = String(await freePort());
    const app = await serverOf(model, { environment: { METRICS_PORT: port } });
    const metrics = (): Promise<Response> => fetch(`http://127.0.0.1:${port}/metrics`);
    await app.ready();
    try {
      await app.inject({ method: 'POST', url: update, payload: { name: 'x' } });
      for (const path of [
        'Person',
        'Person(1)',
        'Person?$filter=ID>0',
        'Person?$top=1',
        'N1',
        'N2',
      ]) {
        await app.inject(`/rest/${path}`);
      }
      await app.inject({ url: '/rest/Person', method: 'PUT' });
      const answer = await metrics();
      expect(answer.headers.get('content-type')).toContain('version=0.0.4');
      const lines = (await answer.text()).split('\n');
      const counts = lines.filter((line) => line.startsWith('drs_request_duration_seconds_count'));
      const name = 'drs_request_duration_seconds_count';
      expect(counts.toSorted()).toEqual([
        `${name}{dataclass="",kind="unknown",status="404"} 2`,
        `${name}{dataclass="",kind="unknown",status="405"} 1`,
        `${name}{dataclass="Person",kind="entity",status="200"} 1`,
        `${name}{dataclass="Person",kind="read",status="200"} 3`,
        `${name}{dataclass="Person",kind="save",status="200"} 1`,
      ]);
      const statements = lines.find((line) =>
        line.startsWith('drs_statement_duration_seconds_count'),
      );
      expect(Number(statements?.split(' ')[1])).toBeGreaterThanOrEqual(5);
      expect(lines.some((line) => line.startsWith('process_resident_memory_bytes'))).toBe(true);
      expect((await fetch(`http://127.0.0.1:${port}/rest/Person`)).status).toBe(404);
      expect((await app.inject('/metrics')).statusCode).toBe(404);
    } finally {
      await app.close();
    }
    await expect(metrics()).rejects.toThrow();
  });

  it('of a server of several processes has the sums of all of them', async () => {
    const scratch = new Scratch(compiledProgram(modelOf(model)));
    const port = String(await freePort());
    try {
      const server = await scratch.start({ environment: { METRICS_PORT: port, PROCESSES: '2' } });
      // Each connection goes to the next process.
      const headers = { connection: 'close' };
      for (let count = 0; count < 4; count += 1) {
        await fetch(`${server.origin}/rest/Person`, { headers });
      }
      await fetch(`${server.origin}/rest/Person?$method=entityset`, { headers });
      const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      expect(text).toContain(
        'drs_request_duration_seconds_count{dataclass="Person",kind="read",status="200"} 4\n',
      );
      // The processes share the state in the database.
      expect(text).toMatch(/^drs_state_statement_duration_seconds_count [1-9]/m);
      server.child.kill('SIGTERM');
      expect(await server.ended).toMatchObject({ code: 0, stderr: '' });
    } finally {
      await scratch.remove();
    }
  });
});

describeDatabases('TRACING=on', ({ driver, create }) => {
  const exporter = new InMemorySpanExporter();
  const provider = new NodeTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  });
  let database: TestDatabase;
  let app: FastifyInstance;

  beforeAll(async () => {
    provider.register();
    database = await create();
    app = await serverOf(
      { ...modelOf(model), databases: [driver] },
      { databaseUrl: database.url, environment: { TRACING: 'on', STATE: 'database' } },
    );
    app.get('/own', async (request) => {
      await (
        request.ds as { Person: { all(): { count(): Promise<number> } } }
      ).Person.all().count();
      return {};
    });
    app.get('/fails', () => {
      throw new Error('broken');
    });
    await app.ready();
  });
  afterAll(async () => {
    await app.close();
    await database.drop();
    await provider.shutdown();
    trace.disable();
    context.disable();
    propagation.disable();
  });
  beforeEach(() => {
    exporter.reset();
  });

  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const parentId = 'b7ad6b7169203331';
  const headers = { traceparent: `00-${traceId}-${parentId}-01` };
  const isRequest = ({ kind }: ReadableSpan): boolean => kind === SpanKind.SERVER;

  /** The span of the request, and those of its statements. */
  async function spans(): Promise<readonly [ReadableSpan, ...ReadableSpan[]]> {
    await expect.poll(() => exporter.getFinishedSpans().filter(isRequest)).toHaveLength(1);
    const all = exporter.getFinishedSpans();
    return [all.find(isRequest) as ReadableSpan, ...all.filter((each) => !isRequest(each))];
  }

  it.each([
    ['a read', { url: '/rest/Person' }, 'GET /rest/Person', 'read'],
    ['an entity', { url: '/rest/Person(1)' }, 'GET /rest/Person(:key', 'entity'],
    [
      'a change',
      { method: 'POST', url: update, payload: { name: 'hidden' } },
      'POST /rest/Person',
      'save',
    ],
    ['an own route', { url: '/own' }, 'GET /own', 'own'],
  ] as const)(
    'makes a span for %s, and spans of its statements within',
    async (_, given, name, kind) => {
      const { statusCode } = await app.inject({ ...given, headers });
      const [request, ...statements] = await spans();
      expect(request.name).toBe(name);
      expect(request.spanContext().traceId).toBe(traceId);
      expect(request.parentSpanContext?.spanId).toBe(parentId);
      expect(request.attributes).toMatchObject({
        'http.response.status_code': statusCode,
        'drs.kind': kind,
      });
      expect(statements).not.toHaveLength(0);
      for (const each of statements) {
        expect(each.attributes['db.query.text']).toContain('Person');
        expect(each.spanContext().traceId).toBe(traceId);
        expect(each.parentSpanContext?.spanId).toBe(request.spanContext().spanId);
        expect(each.ended).toBe(true);
        expect(JSON.stringify(each.attributes)).not.toContain('hidden');
      }
    },
  );

  it('marks the spans of statements of the state in the database', async () => {
    await app.inject({ url: '/rest/Person?$method=entityset', headers });
    const [request, ...statements] = await spans();
    const [ofState, ofData] = [true, undefined].map((mark) =>
      statements.filter(({ attributes }) => attributes['drs.state'] === mark),
    );
    expect(ofData).not.toHaveLength(0);
    expect(ofState).not.toHaveLength(0);
    for (const each of ofState ?? []) {
      expect(each.attributes['db.query.text']).toContain('entityset');
      expect(each.parentSpanContext?.spanId).toBe(request.spanContext().spanId);
    }
  });

  it('fails the span of a request that the server could not answer', async () => {
    await app.inject('/fails');
    const [request] = await spans();
    expect(request.status.code).toBe(SpanStatusCode.ERROR);
  });

  it('makes no span for /health', async () => {
    await app.inject('/health');
    await app.inject('/rest/Person(1)');
    expect((await spans())[0].name).toBe('GET /rest/Person(:key');
  });
});

describeDatabases('nbRequestsPerMinPerGuestAddress', ({ driver, create }) => {
  let database: TestDatabase;
  let app: FastifyInstance;

  beforeAll(async () => {
    database = await create();
    const environment = {
      STATE: driver === 'sqlite' ? 'memory' : 'database',
      TRUST_PROXY: '10.0.0.0/8',
      QUOTAS: '{"nbRequestsPerMinPerGuestAddress":3}',
    };
    app = await rolesServerOf(
      { ...modelOf(model + roles), databases: [driver] },
      { databaseUrl: database.url, environment },
    );
  });
  afterAll(async () => {
    await app.close();
    await database.drop();
  });

  /** Statuses of requests of guests that a proxy passes on. */
  async function statuses(count: number, address: string, proxy = '10.0.0.1'): Promise<number[]> {
    const found = [];
    for (let done = 0; done < count; done += 1) {
      const headers = { 'x-forwarded-for': address };
      const answer = await app.inject({ url: '/rest/$catalog', headers, remoteAddress: proxy });
      found.push(answer.statusCode);
    }
    return found;
  }

  it('limits the guests with one address, and no others', async () => {
    expect(await statuses(4, '192.0.2.1')).toEqual([200, 200, 200, 429]);
    expect(await statuses(2, '192.0.2.2')).toEqual([200, 200]);
  });

  it('counts the addresses of one network of IPv6 together', async () => {
    expect(await statuses(2, '2001:db8::1')).toEqual([200, 200]);
    expect(await statuses(2, '2001:db8::ffff')).toEqual([200, 429]);
    expect(await statuses(1, '2001:db8:0:1::1')).toEqual([200]);
  });

  it('believes no address that an unknown proxy passes on', async () => {
    expect(await statuses(3, '192.0.2.3', '203.0.113.1')).toEqual([200, 200, 200]);
    expect(await statuses(1, '192.0.2.4', '203.0.113.1')).toEqual([429]);
  });

  it('does not limit users', async () => {
    const client = await loggedIn(app, { privileges: ['read'] });
    for (let done = 0; done < 6; done += 1) {
      expect((await client.get('/rest/Person')).statusCode).toBe(200);
    }
  });
});

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => {
        resolve(port);
      });
    });
  });
}

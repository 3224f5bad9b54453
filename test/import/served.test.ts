import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';
import { serverOf } from '../support/server.js';
import { attributesOf, imported, runIn, workplace } from './importer.js';

const servers: Server[] = [];
const apps: FastifyInstance[] = [];

afterEach(async () => {
  for (const each of servers.splice(0)) {
    each.close();
    each.closeAllConnections();
  }
  for (const each of apps.splice(0)) await each.close();
});

type Answer = readonly [status: number, body: unknown, headers?: Record<string, string | string[]>];

/** A server that answers each request with a status, a body and headers; its address. */
async function answering(
  answer: (request: IncomingMessage, body: string) => Answer,
): Promise<string> {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const [status, value, headers = {}] = answer(request, body);
      response.writeHead(status, headers);
      response.end(typeof value === 'string' ? value : JSON.stringify(value));
    });
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
}

async function listening(app: FastifyInstance): Promise<string> {
  apps.push(app);
  return app.listen({ port: 0, host: '127.0.0.1' });
}

/** As 4D writes it. */
const orchard = {
  __NAME: 'orchard',
  methods: [{ name: 'authentify', applyTo: 'dataStore', allowedOnHTTPGET: false }],
  singletons: [{ name: 'Press', methods: [{ name: 'squeeze', allowedOnHTTPGET: true }] }],
  dataClasses: [
    {
      name: 'Tree',
      className: 'Tree',
      collectionName: 'TreeSelection',
      scope: 'public',
      attributes: [
        {
          name: 'ID',
          kind: 'storage',
          fieldPos: 1,
          type: 'long',
          identifying: true,
          autosequence: true,
        },
        { name: 'planted', kind: 'storage', fieldPos: 2, type: 'date', simpleDate: true },
        { name: 'embedding', kind: 'storage', type: 'object', classID: '4D.Vector' },
        { name: 'plotID', kind: 'storage', fieldPos: 4, type: 'uuid', indexed: true },
        { name: 'sort', kind: 'storage', fieldPos: 5, type: 'string' },
        { name: 'label', kind: 'calculated', type: 'string', readOnly: true },
        { name: 'mood', kind: 'calculated', type: 'string' },
        { name: 'twins', kind: 'calculated', behavior: 'relatedEntities', type: 'TreeSelection' },
        { name: 'plotName', kind: 'alias', type: 'string', path: 'plot.name', readOnly: true },
        {
          name: 'plot',
          kind: 'relatedEntity',
          fieldPos: 4,
          type: 'Plot',
          path: 'Plot',
          foreignKey: 'plotID',
          inverseName: 'trees',
        },
        {
          name: 'kind',
          kind: 'relatedEntity',
          fieldPos: 5,
          type: 'Sort',
          path: 'Sort',
          foreignKey: 'sort',
          inverseName: 'trees',
        },
      ],
      methods: [{ name: 'prune', applyTo: 'entitySelection', scope: 'public' }],
      key: [{ name: 'ID' }],
    },
    {
      name: 'Plot',
      collectionName: 'PlotSelection',
      attributes: [
        { name: 'ID', kind: 'storage', fieldPos: 1, type: 'uuid', identifying: true },
        {
          name: 'name',
          kind: 'storage',
          fieldPos: 2,
          type: 'string',
          unique: true,
          not_null: true,
        },
        {
          name: 'trees',
          kind: 'relatedEntities',
          fieldPos: 1,
          type: 'TreeSelection',
          path: 'plot',
          reversePath: true,
        },
      ],
      key: [{ name: 'ID' }],
    },
    {
      name: 'Sort',
      collectionName: 'SortSelection',
      attributes: [
        { name: 'ID', kind: 'storage', fieldPos: 1, type: 'long', identifying: true },
        { name: 'code', kind: 'storage', fieldPos: 2, type: 'string', unique: true },
        {
          name: 'trees',
          kind: 'relatedEntities',
          fieldPos: 2,
          type: 'TreeSelection',
          path: 'kind',
          reversePath: true,
        },
      ],
      key: [{ name: 'ID' }],
    },
    { name: 'Log', attributes: [{ name: 'words', kind: 'storage', type: 'string' }], key: [] },
  ],
};

/** As Wakanda writes it: no foreign keys, and collections with names of their own. */
const staff = {
  dataClasses: [
    {
      name: 'Employee',
      className: 'Employee',
      collectionName: 'Staff',
      scope: 'public',
      attributes: [
        {
          name: 'ID',
          kind: 'storage',
          scope: 'public',
          type: 'long',
          identifying: true,
          autosequence: true,
        },
        { name: 'name', kind: 'storage', scope: 'public', type: 'string', indexed: true },
        {
          name: 'boss',
          kind: 'relatedEntity',
          scope: 'public',
          type: 'Employee',
          path: 'Employee',
        },
        {
          name: 'reports',
          kind: 'relatedEntities',
          scope: 'public',
          type: 'Staff',
          path: 'boss',
          reversePath: true,
        },
      ],
      key: [{ name: 'ID' }],
    },
  ],
};

describe('drs-gen import of a running server', () => {
  it('takes the model from the catalog of 4D', async () => {
    const requests: string[] = [];
    const address = await answering(({ url = '' }) => {
      requests.push(url);
      return [200, orchard];
    });
    const found = await imported(workplace(), `${address}/rest/`);
    expect(requests).toEqual(['/rest/$catalog/$all']);
    expect(found.model).toMatchObject({
      name: 'orchard',
      protocol: { dateOnlyFormat: 'bang', accentInsensitive: true, wildcard: true },
      datastore: { functions: { authentify: { exposed: true } } },
      singletons: {
        Press: { scope: 'shared', functions: { squeeze: { exposed: true, onHTTPGet: true } } },
      },
    });
    expect(found.model.dataclasses['Tree']).toMatchObject({
      functions: { selection: { prune: { exposed: true } } },
    });
    expect(attributesOf(found, 'Tree')).toEqual({
      ID: { type: 'integer', key: true, generated: 'sequence' },
      planted: { type: 'date', dateOnly: true },
      embedding: 'object',
      plotID: 'uuid',
      sort: 'string',
      label: { computed: 'string' },
      mood: { computed: 'string', accessors: ['get', 'set'] },
      plotName: { alias: 'plot.name' },
      plot: { to: 'Plot', foreignKey: 'plotID', inverse: 'trees' },
      kind: { to: 'Sort', foreignKey: 'sort', references: 'code', inverse: 'trees' },
    });
    expect(attributesOf(found, 'Plot')).toEqual({
      ID: { type: 'uuid', key: true, generated: 'uuid' },
      name: { type: 'string', unique: true, mandatory: true },
      trees: { to: 'Tree', many: true, inverse: 'plot' },
    });
    expect(Object.keys(found.model.dataclasses)).toEqual(['Tree', 'Plot', 'Sort']);
    expect(found.told('vector')).toHaveLength(1);
    expect(found.told('no-key')).toEqual([expect.stringContaining('Log')]);
    expect(found.told('accessor-lost')).toEqual([expect.stringContaining('twins')]);
  });

  it('takes the model from the catalog of Wakanda, and its name from the address', async () => {
    const address = await answering(() => [200, `\ufeff${JSON.stringify(staff)}`]);
    const place = workplace();
    const found = await imported(place, address);
    expect(found.model).toMatchObject({ protocol: { compatibility: 'wakanda' } });
    expect(found.model.dataclasses['Employee']).toEqual({
      collectionName: 'Staff',
      attributes: {
        ID: { type: 'integer', key: true, generated: 'sequence' },
        name: { type: 'string', indexed: true },
        boss: { to: 'Employee', inverse: 'reports' },
        reports: { to: 'Employee', many: true, inverse: 'boss' },
      },
    });
    expect(place.text('import-report.md')).toContain('looks like one of Wakanda');
    const said = await imported(workplace(), address, '--from', '4d');
    expect(said.model).toMatchObject({ protocol: { wildcard: true } });
    expect((await workplace().import(address, '--from', 'sqlite')).code).toBe(2);
  });

  it('takes the rules of a server of drs-gen, and gives a server that answers', async () => {
    const address = await listening(
      await serverOf(`
drs: 1
name: rules
dataclasses:
  Thing:
    attributes:
      ID: { type: uuid, key: true, generated: uuid }
      size: { type: integer, min: 1, max: 9, mandatory: true }
      day: { type: date, dateOnly: true, min: '2001-01-01' }
      kind: { type: string, enum: [a, b], readOnly: true }
      code: { type: string, pattern: '^[a-z]+$', minLength: 2, maxLength: 4, unique: true }
      price: { type: decimal, precision: 8, scale: 2, min: '9', max: '100.5' }
      place: { type: vector, dimensions: 3 }
      secret: { type: string, exposed: false }
      owner: { to: Owner, references: code, foreignKey: ownerCode, inverse: things }
      ownerCode: string
  Owner:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      code: { type: string, unique: true }
      things: { to: Thing, many: true, inverse: owner }
`),
    );
    const found = await imported(workplace(), address);
    expect(attributesOf(found, 'Thing')).toEqual({
      ID: { type: 'uuid', key: true, generated: 'uuid' },
      size: { type: 'integer', min: 1, max: 9, mandatory: true },
      day: { type: 'date', dateOnly: true, min: '2001-01-01' },
      kind: { type: 'string', enum: ['a', 'b'], readOnly: true },
      code: { type: 'string', pattern: '^[a-z]+$', minLength: 2, maxLength: 4, unique: true },
      price: { type: 'decimal', precision: 8, scale: 2, min: '9.00', max: '100.50' },
      place: { type: 'vector', dimensions: 3 },
      ownerCode: 'string',
      owner: { to: 'Owner', references: 'code', foreignKey: 'ownerCode', inverse: 'things' },
    });
    const model = found.model.checked.value;
    if (model === undefined) throw new Error('The model has errors.');
    const app = await serverOf(model);
    apps.push(app);
    const { statusCode, body } = await app.inject('/rest/Thing');
    expect([statusCode, body]).toEqual([200, expect.stringContaining('"__COUNT":0')]);
  });

  it('brings a model up to date, and keeps what the user has edited', async () => {
    let catalog: unknown = staff;
    const address = await answering(() => [200, catalog]);
    const place = workplace();
    await imported(place, address);
    const before = place.text('model.yaml');
    await imported(place, address);
    expect(place.text('model.yaml')).toBe(before);
    place.put(
      'model.yaml',
      before.replace('name: { type: string', '# Ours\n      name: { type: string, maxLength: 40'),
    );
    const [employee] = staff.dataClasses;
    const attributes = [
      ...(employee?.attributes ?? []).filter(({ name }) => name !== 'name'),
      { name: 'name', kind: 'storage', type: 'string', indexed: true, unique: true },
      { name: 'salary', kind: 'storage', type: 'number' },
    ];
    catalog = { dataClasses: [{ ...employee, attributes }] };
    const found = await imported(place, address);
    expect(place.text('model.yaml')).toContain('# Ours\n');
    expect(attributesOf(found, 'Employee')).toMatchObject({
      name: { type: 'string', maxLength: 40, unique: true },
      salary: 'number',
    });
  });

  it('logs in by name, by authentify or by a cookie, and keeps the session', async () => {
    const seen: unknown[] = [];
    const address = await answering(({ method, url = '', headers }, body) => {
      const user = headers['username-4d'];
      seen.push([method, url.replace('/rest/', ''), headers.cookie, user, body]);
      if (method === 'POST')
        return [200, { result: true }, { 'set-cookie': ['S=1; Path=/', 'T=2'] }];
      return headers.cookie === undefined ? [401, {}] : [200, orchard];
    });
    const place = workplace();
    const refused = await place.import(address);
    expect(refused.code).toBe(1);
    expect(refused.err).toContain('log in with --user, --authentify or --cookie');
    expect(await place.import(address, '--user', 'mia')).toMatchObject({ code: 2 });
    expect(await place.import(address, '--cookie', 'S')).toMatchObject({ code: 2 });
    expect(await place.import(address, '--args', '["mia"]')).toMatchObject({ code: 2 });
    seen.length = 0;
    const env = { IMPORT_PASSWORD: 'pass' };
    const argv = (...options: readonly string[]): string[] => [
      'import',
      address,
      '--dry-run',
      ...options,
    ];
    expect(await runIn(place.folder, argv('--user', 'Zoë'), env)).toMatchObject({ code: 0 });
    expect(await runIn(place.folder, argv('--authentify', '--args', '["mia"]'))).toMatchObject({
      code: 0,
    });
    expect(await runIn(place.folder, argv('--cookie', 'S=5; T=6'))).toMatchObject({ code: 0 });
    const utf8 = Buffer.from('Zoë').toString('latin1');
    expect(seen).toEqual([
      ['POST', '$directory/login', undefined, utf8, '["Zoë","pass",36000]'],
      ['GET', '$catalog/$all', 'S=1; T=2', undefined, ''],
      ['POST', '$catalog/authentify', undefined, undefined, '["mia"]'],
      ['GET', '$catalog/$all', 'S=1; T=2', undefined, ''],
      ['GET', '$catalog/$all', 'S=5; T=6', undefined, ''],
    ]);
  });

  it('refuses what is no catalog, and follows no redirection', async () => {
    const place = workplace();
    const told = async (...answer: Answer): Promise<string> => {
      const { code, err } = await place.import(await answering(() => answer));
      return `${String(code)} ${err}`;
    };
    expect(await told(404, '')).toMatch(/^1 .*import\/unreadable.*it answered 404/s);
    expect(await told(200, '<html>')).toMatch(/^1 .*is no JSON/s);
    expect(await told(200, { dataClasses: {} })).toMatch(/^1 .*lists no dataClasses/s);
    expect(await told(200, { dataClasses: [] })).toMatch(/^1 .*import\/empty.*log in/s);
    expect(await told(200, { dataClasses: [1, null, []] })).toMatch(/^1 .*import\/empty/s);
    expect(await told(200, { dataClasses: [{ name: 'A', attributes: Array(100_001) }] })).toMatch(
      /^1 .*more than 100000/s,
    );
    expect(await told(302, '', { location: 'http://other.example/' })).toMatch(
      /^1 .*leads to http:\/\/other\.example\//s,
    );
    const hostile = 'http://x/\u009b31m';
    expect(await told(302, '', { location: hostile })).toContain('leads to http://x/<U+009B>31m');
    const moved = await answering(() => [302, '', { location: hostile }]);
    const { out } = await place.import(moved, '--json');
    expect(out).toContain(String.raw`leads to http://x/\u009b31m`);
    const nobody = await place.import('http://127.0.0.1:1');
    expect([nobody.code, nobody.err]).toEqual([1, expect.stringContaining('127.0.0.1:1/rest')]);
    expect(await place.import('http://mia:pass@127.0.0.1:1')).toMatchObject({ code: 2 });
    expect(place.files()).toEqual([]);
  });

  it('ends when an answer is too long', async () => {
    const server = createServer((_, response) => {
      const chunk = Buffer.alloc(1024 * 1024, ' ');
      const send = (): void => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on('drain', send);
      send();
    });
    servers.push(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const { code, err } = await workplace().import(`http://127.0.0.1:${String(port)}`);
    expect([code, err]).toEqual([1, expect.stringContaining('more than 64 MiB')]);
  });

  it('gets over odd names', async () => {
    const key = { name: 'ID', kind: 'storage', type: 'uuid', identifying: true };
    const odd = {
      __NAME: '\u001b[31m',
      methods: [{ name: 'constructor' }, { name: 'f' }, { name: 'f' }, 1],
      singletons: [{ name: '__proto__', methods: [{ name: 'x y' }] }, { name: '__proto__' }, {}],
      dataClasses: [
        {
          name: '__proto__',
          attributes: [key, { ...key, uuid: 'ID', name: 'a', identifying: false }],
        },
        {
          name: 'A B',
          attributes: [
            key,
            { name: 'constructor', kind: 'storage', type: 'toString' },
            { name: 'p', kind: 'relatedEntity', type: 'constructor', foreignKey: 'toString' },
            { name: 'q', kind: 'relatedEntity', type: 'A B', foreignKey: 'q' },
          ],
          methods: [{ name: 'g', applyTo: 'constructor' }],
        },
        { name: 'A B', attributes: [key] },
      ],
    };
    const address = await answering(() => [200, odd]);
    const found = await imported(workplace(), address);
    expect(Object.keys(found.model.dataclasses)).toEqual(['_proto__', 'A_B', 'A_B_']);
    expect(found.model.dataclasses['A_B']).toMatchObject({ functions: { entity: { g: {} } } });
  });
});

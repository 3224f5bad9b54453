import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Client } from '../../support/cookies.js';
import { loggedIn, rolesServerOf } from '../../support/roles-server.js';
import { isOnPostgres } from '../../support/server.js';
import { codesOf } from '../../support/expect-served.js';

const model = `
drs: 1
name: staff
dataclasses:
  Company:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: { type: string, unique: true, mandatory: true }
      secretCode: { type: string, unique: true }
      staff: { to: Employee, many: true, inverse: employer }
  Employee:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: { type: string, mandatory: true }
      salary: { type: number, default: 10 }
      note: string
      employer: { to: Company, inverse: staff }
      employerName: { alias: employer.name }
      employerCode: { alias: employer.secretCode }
  Letter:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      text: { type: string, unique: true }
      scan: blob
      employee: { to: Employee, onDelete: restrict }
  Vault:
    attributes:
      ID: { type: integer, key: true }
  Poll:
    attributes:
      ID: { type: integer, key: true }
      text: string
      lines: { to: Line, many: true, inverse: poll }
  Line:
    attributes:
      ID: { type: integer, key: true }
      poll: { to: Poll, inverse: lines }
roles:
  restrictedByDefault: false
  privileges:
    - { privilege: viewStaff }
    - { privilege: manageStaff, includes: [viewStaff] }
    - { privilege: writeLetters }
    - { privilege: admin, includes: [manageStaff] }
  roles:
    - { role: HR, privileges: [manageStaff] }
  permissions:
    allowed:
      - { applyTo: Employee, type: dataclass, read: [viewStaff], create: [manageStaff], update: [viewStaff], drop: [viewStaff] }
      - { applyTo: Employee.salary, type: attribute, read: [manageStaff], create: [admin] }
      - { applyTo: Employee.note, type: attribute, update: [manageStaff], drop: [manageStaff] }
      - { applyTo: Company.secretCode, type: attribute, read: [manageStaff] }
      - { applyTo: Letter, type: dataclass, read: [none], create: [writeLetters] }
      - { applyTo: Poll, type: dataclass, update: [viewStaff] }
      - { applyTo: Line, type: dataclass, create: [viewStaff], update: [viewStaff] }
      - { applyTo: Vault, type: dataclass, read: [none], create: [none] }
`;

const statements: string[] = [];
let app: FastifyInstance;
let guest: Client;
let viewer: Client;
let hr: Client;
let admin: Client;
let writer: Client;

beforeAll(async () => {
  app = await rolesServerOf(model, { onStatement: (sql) => statements.push(sql) });
  guest = new Client(app);
  viewer = await loggedIn(app, { privileges: ['VIEWSTAFF', 'unknown', 'none'] });
  hr = await loggedIn(app, { roles: ['hr'] });
  admin = await loggedIn(app, { privileges: ['admin'] });
  writer = await loggedIn(app, { privileges: ['writeLetters'] });
  const companies = [{ name: 'Acme', secretCode: 'x1' }, { name: 'Bolt' }];
  expect((await admin.post('/rest/Company?$method=update', companies)).statusCode).toBe(200);
  const staff = [
    { name: 'Ada', salary: 500, note: 'early', employer: 1 },
    { name: 'Bob', employer: 1 },
  ];
  const made = await admin.post('/rest/Employee?$method=update', staff);
  expect(made.body).not.toContain('__ERROR');
});
afterAll(() => app.close());

it('confirms no tag of a session that sees something else', async () => {
  for (const url of ['/rest/Employee', '/rest/Employee?$orderby=name&$top=1', '/rest/Company']) {
    const { headers } = await hr.get(url);
    const given = { 'if-none-match': String(headers['etag']) };
    expect((await hr.get(url, given)).statusCode).toBe(304);
    const answer = await viewer.get(url, given);
    expect(answer.statusCode).toBe(200);
    expect(answer.headers['etag']).not.toBe(headers['etag']);
  }
});

// PostgreSQL counts in the statement of the page.
describe.skipIf(isOnPostgres)('Sessions that see the same', () => {
  const counts = async (client: Client, url: string): Promise<number> => {
    statements.length = 0;
    expect((await client.get(url)).statusCode).toBe(200);
    return statements.filter((each) => each.startsWith('select count(*)')).length;
  };

  it('share what was counted for one of them', async () => {
    const url = '/rest/Company?$filter="name = Acme"';
    expect(await counts(guest, url)).toBe(1);
    // Its privilege is to create letters, which nobody reads.
    expect(await counts(writer, url)).toBe(0);
    expect(await counts(viewer, url)).toBe(1);
    expect(await counts(viewer, `${url}&$top=1`)).toBe(0);
  });
});

describe('A dataclass that the session may not read', () => {
  it.each(['/rest/Employee', '/rest/Employee(1)', '/rest/Employee/name', '/rest/Employee:ID(1)'])(
    'is answered with 401 for a guest and with 403 for a user: %s',
    async (url) => {
      const asGuest = await guest.get(url);
      expect(asGuest.statusCode).toBe(401);
      expect(codesOf(asGuest)).toEqual([1556]);
      expect((await writer.get(url)).statusCode).toBe(403);
      expect((await viewer.get(url)).statusCode).toBe(200);
    },
  );

  it('is unknown in paths, lists and the catalog', async () => {
    for (const url of [
      '/rest/Company?$expand=staff',
      '/rest/Company?$filter=staff.name=%27Ada%27',
      '/rest/Company(1)/staff?$expand=staff',
      '/rest/Company?$attributes=staff',
    ]) {
      const closed = await guest.get(url);
      const unknown = await guest.get(url.replaceAll('staff', 'stuff'));
      expect(closed.statusCode, url).toBe(unknown.statusCode);
      expect(closed.body, url).toBe(unknown.body.replaceAll('stuff', 'staff'));
      expect((await viewer.get(url)).statusCode, url).toBe(200);
    }
    const names = async (client: Client): Promise<string[]> => {
      const { dataClasses }: { dataClasses: { name: string }[] } = (
        await client.get('/rest/$catalog')
      ).json();
      return dataClasses.map((each) => each.name);
    };
    expect(await names(guest)).toEqual(['Company', 'Line', 'Poll']);
    expect(await names(viewer)).toEqual(['Company', 'Employee', 'Line', 'Poll']);
    expect((await guest.get('/rest/$catalog/Employee')).statusCode).toBe(404);
    expect((await guest.get('/rest/$catalog/Company')).body).not.toContain('staff');
    expect((await guest.get('/rest/Company(1)')).body).not.toContain('staff');
  });

  it('does not exist at all if nobody may do anything with it', async () => {
    expect((await admin.get('/rest/Vault')).body).toBe(
      (await admin.get('/rest/Vaults')).body.replaceAll('Vaults', 'Vault'),
    );
  });
});

describe('An attribute that the session may not read', () => {
  it('is left out of answers, except for sessions that may read it', async () => {
    expect((await viewer.get('/rest/Employee(1)')).body).not.toContain('salary');
    expect((await hr.get('/rest/Employee(1)')).body).toContain('"salary":500');
    expect((await viewer.get('/rest/Company?$expand=staff')).body).not.toContain('salary');
    expect((await hr.get('/rest/Company?$expand=staff')).body).toContain('"salary":500');
  });

  it.each([
    '/rest/Employee/salary',
    '/rest/Employee(1)/salary',
    '/rest/Employee:salary(500)',
    '/rest/Employee?$filter=salary=500',
    '/rest/Employee?$filter=salry=500',
    '/rest/Employee?$orderby=salary',
    '/rest/Employee?$attributes=name,salary',
    '/rest/Employee/salary?$compute=sum',
    '/rest/Employee/salary?$distinct=true',
    '/rest/Employee/salary?$asArray=true',
    '/rest/Company?$filter=staff.salary=500',
    '/rest/Company?$attributes=staff.salary',
    '/rest/Employee?$format=looker&$attributes=salary',
    '/rest/Employee?$filter=ID=1&$method=entityset&$attributes=salary',
  ])('is answered like an unknown one: %s', async (url) => {
    const name = url.includes('salry') ? 'salry' : 'salary';
    const closed = await viewer.get(url);
    const unknown = await viewer.get(url.replaceAll(name, 'zzzzzz'));
    expect(closed.statusCode).toBe(unknown.statusCode);
    expect(closed.body).toBe(unknown.body.replaceAll('zzzzzz', name));
    expect(closed.statusCode).toBeGreaterThanOrEqual(400);
    expect(closed.body.replaceAll(name, '')).not.toContain('salary');
  });

  it('can be shown by an alias, which has privileges of its own', async () => {
    const { body } = await viewer.get('/rest/Employee(1)?$attributes=employerCode');
    expect(body).toContain('"employerCode":"x1"');
    expect((await viewer.get('/rest/Company(1)')).body).not.toContain('secretCode');
  });
});

describe('A denial to a client whose session has ended', () => {
  const end = expect.objectContaining({
    errCode: 1845,
    message: 'The session has ended: log in again.',
  }) as unknown;
  let stale: Client;

  beforeAll(async () => {
    const client = await loggedIn(app, { privileges: ['viewStaff'] });
    stale = new Client(app);
    stale.cookie = client.cookie;
    expect((await stale.get('/rest/Employee')).statusCode).toBe(200);
    await client.get('/rest/$directory/logout');
    await admin.post('/rest/Poll?$method=update', { ID: 1, text: 'old' });
  });

  it('says so, beside the reason', async () => {
    const requests = [
      stale.get('/rest/Employee'),
      stale.get('/rest/Employee(1)?$lock=true'),
      stale.post('/rest/Employee?$method=update', { name: 'x' }),
      stale.post('/rest/Employee(1)?$method=delete'),
    ];
    for (const { statusCode, json } of await Promise.all(requests)) {
      expect(statusCode).toBe(401);
      const { __ERROR: errors } = json<{ __ERROR: { errCode: number }[] }>();
      expect(errors).toEqual([expect.not.objectContaining({ errCode: 1845 }), end]);
    }
  });

  it('says so once for each refused entity of a body', async () => {
    const change = { __KEY: '1', __STAMP: 1, text: 'x' };
    const withLines = { ID: 2, lines: [{ ID: 1 }, { ID: 2 }] };
    for (const [body, codes] of [
      [change, [1558, 1845]],
      [withLines, [1557, 1557, 1046, 1534, 1845]],
    ] as const) {
      const response = await stale.post('/rest/Poll?$method=update', body);
      expect([response.statusCode, codesOf(response)]).toEqual([401, codes]);
      const listed = await stale.post('/rest/Poll?$method=update', [body, { ID: 9, lines: [] }]);
      const [refused] = listed.json<{ __ENTITIES: { __ERROR: object[] }[] }>().__ENTITIES;
      expect(refused?.__ERROR.at(-1)).toEqual(end);
      const checked = await stale.post('/rest/Poll?$method=validate', body);
      expect(checked.body).toContain('log in again');
    }
    expect((await stale.post('/rest/Poll?$method=update', { ID: 5 })).statusCode).toBe(200);
  });

  it('does not say so to other guests, to users, and about other errors', async () => {
    const unknown = new Client(app);
    unknown.cookie = 'DRSID_other=00000000000000000000000000000000; DRSID_staff=x';
    for (const client of [guest, unknown]) {
      expect(codesOf(await client.get('/rest/Employee'))).toEqual([1556]);
    }
    expect(codesOf(await writer.get('/rest/Employee'))).toEqual([1556]);
    expect(codesOf(await stale.get('/rest/Poll?$filter="no=1"'))).not.toContain(1845);
  });
});

describe('A write', () => {
  it('needs a privilege for the dataclass, before the body is read', async () => {
    for (const method of ['update', 'validate']) {
      const url = `/rest/Employee?$method=${method}`;
      const created = await guest.post(url, [{ nonsense: 1, name: '"__STAMP"' }]);
      expect(created.statusCode).toBe(401);
      expect(codesOf(created)).toEqual([1557]);
      expect(created.body).toContain('No permission to create entities of the \\"Employee\\"');
      const changed = await guest.post(url, { __KEY: '1', __STAMP: 1, nonsense: 1 });
      expect(changed.statusCode).toBe(401);
      expect(codesOf(changed)).toEqual([1558]);
      expect(changed.body).toContain('No permission to update entities of the \\"Employee\\"');
    }
    const created = await viewer.post('/rest/Employee?$method=update', { name: 'New' });
    expect(created.statusCode).toBe(403);
    expect(codesOf(created)).toEqual([1557]);
    expect(created.json()).toMatchObject({ __STATUS: { status: 1, success: false } });
  });

  it('refuses an entity as a whole for one attribute', async () => {
    const url = '/rest/Employee(2)?$method=update';
    const before = (await admin.get('/rest/Employee(2)')).body;
    const refused = await viewer.post(url, { __STAMP: 1, name: 'Bobby', note: 'mine' });
    expect(refused.statusCode).toBe(403);
    expect(codesOf(refused)).toContain(1558);
    expect((await admin.get('/rest/Employee(2)')).body).toBe(before);
  });

  it('accepts a whole entity as it was read', async () => {
    const entity: Record<string, unknown> = (await viewer.get('/rest/Employee(1)')).json();
    const saved = await viewer.post('/rest/Employee?$method=update', { ...entity, name: 'Ada L.' });
    expect(saved.statusCode, saved.body).toBe(200);
    expect(saved.body).not.toContain('salary');
  });

  it('treats an unreadable attribute of an existing entity as unknown', async () => {
    const closed = await viewer.post('/rest/Employee(2)', { __STAMP: 1, salary: 7 });
    const unknown = await viewer.post('/rest/Employee(2)', { __STAMP: 1, salari: 7 });
    expect(closed.statusCode).toBe(400);
    expect(closed.body).toBe(unknown.body.replaceAll('salari', 'salary'));
  });

  it('creates an entity with the default of an attribute that the client may not set', async () => {
    const url = '/rest/Employee?$method=update';
    expect((await hr.post(url, { name: 'Cy', salary: 10 })).statusCode).toBe(200);
    expect((await hr.post(url, { name: 'Cy', salary: null })).statusCode).toBe(200);
    const other = await hr.post(url, { name: 'Cy', salary: 11 });
    expect(other.statusCode).toBe(403);
    expect(codesOf(other)).toContain(1557);
    expect((await admin.post(url, { name: 'Cy', salary: 11 })).statusCode).toBe(200);
  });

  it('answers only the key if the client may create but not read', async () => {
    const url = '/rest/Letter?$method=update';
    const made = await writer.post(url, { text: 'Dear' });
    expect(made.statusCode, made.body).toBe(200);
    expect(made.json()).toEqual({ uri: '/rest/Letter(1)', __KEY: '1', __STAMP: 1 });
    const again = await writer.post(url, { text: 'DEAR' });
    expect(again.statusCode).toBe(409);
    expect(again.body).not.toContain('Dear');
    const known = await writer.post(url, { __KEY: 1, text: 'other' });
    expect(known.statusCode).toBe(409);
    expect(known.body).not.toContain('"text"');
    expect((await writer.post(url, { __KEY: 1, __STAMP: 1, text: 'x' })).statusCode).toBe(403);
    expect((await writer.get('/rest/Letter(1)')).statusCode).toBe(404);
  });

  it('accepts uploads for a created entity that may not be read', async () => {
    const uploaded = await writer.send({
      method: 'POST',
      url: '/rest/$upload?$binary=true',
      payload: Buffer.from('scanned'),
    });
    const { ID }: { ID: string } = uploaded.json();
    const made = await writer.post('/rest/Letter?$method=update', { text: 'Scan', scan: { ID } });
    expect(made.statusCode, made.body).toBe(200);
    expect(Object.keys(made.json())).toEqual(['uri', '__KEY', '__STAMP']);
  });

  it('clears no attribute that may not be dropped, neither alone nor with its entity', async () => {
    const [made] = (
      await admin.post('/rest/Employee?$method=update', [{ name: 'Dan', note: 'keep' }])
    ).json<{ __ENTITIES: { __KEY: string }[] }>().__ENTITIES;
    const url = `/rest/Employee(${String(made?.__KEY)})`;
    const dropped = await viewer.post(`${url}?$method=delete`);
    expect(dropped.statusCode).toBe(403);
    expect(codesOf(dropped)).toEqual([1559]);
    expect((await hr.get(url)).statusCode).toBe(200);
    expect((await hr.post(`${url}?$method=delete`)).statusCode).toBe(200);
    expect((await viewer.post('/rest/Employee(2)?$method=delete')).statusCode).toBe(200);
  });

  it('answers an atomic list with the denied action', async () => {
    const body = [{ name: 'Eve' }, { name: 'Fay', salary: 99 }];
    const answer = await hr.post('/rest/Employee?$method=update&$atomic=true', body);
    expect(answer.statusCode).toBe(403);
    expect((await hr.get("/rest/Employee?$filter=name='Eve'")).body).toContain('"__COUNT":0');
  });
});

it('A set that was created with more privileges shows only what its reader may know', async () => {
  const client = await loggedIn(app, { privileges: ['manageStaff'] });
  const made = await client.get(
    '/rest/Employee?$filter=salary>0&$orderby=salary&$method=entityset',
  );
  const { __ENTITYSET: set }: { __ENTITYSET: string } = made.json();
  expect((await client.get(set)).body).toContain('salary');
  expect((await guest.get(set)).statusCode).toBe(401);
  const other = await viewer.get(set);
  expect(other.statusCode).toBe(404);
  expect(codesOf(other)).toEqual([1802]);
});

it('A set whose session lost privileges shows what is left, and is not recreated with a hidden filter', async () => {
  const client = await loggedIn(app, { privileges: ['manageStaff'] });
  const made = await client.get(
    '/rest/Employee?$filter=salary>0&$method=entityset&$savedfilter=true',
  );
  const { __ENTITYSET: set }: { __ENTITYSET: string } = made.json();
  const login = ['mia', JSON.stringify({ privileges: ['viewStaff'] }), 3600];
  expect((await client.post('/rest/$directory/login', login)).statusCode).toBe(200);
  const left = await client.get(set);
  expect(left.statusCode).toBe(200);
  expect(left.body).not.toContain('salary');
  expect((await client.get(`${set}?$filter=salary>0`)).statusCode).toBe(400);
  expect((await client.get(`${set}?$orderby=salary`)).statusCode).toBe(400);
  expect((await client.get(`${set}?$method=release`)).statusCode).toBe(200);
  const gone = await client.get(set);
  expect(gone.statusCode).toBe(404);
  expect(codesOf(gone)).toEqual([1802]);
});

it('A lock needs the privilege to update', async () => {
  expect((await viewer.get('/rest/Company(1)?$lock=true')).statusCode).toBe(200);
  await viewer.get('/rest/Company(1)?$lock=false');
  expect((await guest.get('/rest/Employee(1)?$lock=true')).statusCode).toBe(401);
});

it('A user without privileges gets 403 where a guest gets 401', async () => {
  const user = await loggedIn(app, {});
  expect((await user.get('/rest/Employee')).statusCode).toBe(403);
  expect((await user.get('/rest/Company')).statusCode).toBe(200);
});

it('A deletion that hidden entities forbid does not name them', async () => {
  const both = await loggedIn(app, { privileges: ['writeLetters', 'admin'] });
  const [made] = (await both.post('/rest/Employee?$method=update', [{ name: 'Gil' }])).json<{
    __ENTITIES: { __KEY: string }[];
  }>().__ENTITIES;
  const key = String(made?.__KEY);
  const letter = await both.post('/rest/Letter?$method=update', { text: 'To Gil', employee: key });
  expect(letter.statusCode, letter.body).toBe(200);
  const refused = await viewer.post(`/rest/Employee(${key})?$method=delete`);
  expect(refused.statusCode).toBe(409);
  expect(codesOf(refused)).toEqual([1840]);
  expect(refused.body).not.toMatch(/letter|employee/i);
});

import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { create } from '../../support/server.js';
import { asked, type ComputedServer, computedServer } from '../../support/computed-server.js';

let server: ComputedServer;

/** Texts that look like the placeholders of values that class code has not computed yet. */
const hostile = [
  '\u00010,1,"a"\u0001',
  '\\u0001',
  '"}',
  '\u0001',
  "'; drop table x; --",
  '%s%n\u0000',
];

beforeAll(async () => {
  server = await computedServer();
  await create(server.app, 'Company', [{ name: 'Acme' }, { name: 'Café' }, { name: null }]);
  await create(server.app, 'Employee', [
    {
      code: 'a',
      firstName: 'Ada',
      lastName: 'Byron',
      salary: 2000,
      born: '1815-12-10',
      employer: 1,
    },
    { code: 'b', firstName: 'Bob', lastName: 'Ceco', salary: 10, employer: 1 },
    { code: 'c', firstName: 'Ada', lastName: 'Zoe', salary: 50, born: '2001-02-03', employer: 2 },
    { code: 'd', lastName: 'Alone' },
  ]);
});

afterAll(() => server.app.close());

beforeEach(() => {
  server.sql.length = 0;
  server.logged.length = 0;
  asked().length = 0;
});

type Members = Readonly<Record<string, unknown>>;

async function get(path: string): Promise<{ readonly status: number; readonly text: string }> {
  const [address = '', ...query] = path.split('?');
  const search = query.join('?').split('&').filter(Boolean);
  const encoded = search.map((each) => {
    const at = each.indexOf('=');
    return `${each.slice(0, at)}=${encodeURIComponent(each.slice(at + 1))}`;
  });
  const response = await server.app.inject({ url: `/rest/${address}?${encoded.join('&')}` });
  return { status: response.statusCode, text: response.body };
}

async function read(path: string): Promise<Members> {
  const { status, text } = await get(path);
  expect(status, text).toBe(200);
  return JSON.parse(text) as Members;
}

async function entities(path: string): Promise<readonly Members[]> {
  return (await read(path))['__ENTITIES'] as readonly Members[];
}

async function codes(filter: string): Promise<string> {
  const found = await entities(`Employee/code?$filter=${filter}`);
  return found.map((each) => String(each['code'])).join('');
}

describe('A getter', () => {
  it('returns values of every type, in the format of stored ones', async () => {
    const [first, second] = await entities(
      'Employee/fullName,pay,isRich,birthday,hired,profile?$filter=code in [a, d]',
    );
    expect(first).toEqual({
      __KEY: 'a',
      __STAMP: 1,
      fullName: 'Ada Byron',
      pay: 4000,
      isRich: true,
      birthday: '1815-12-10',
      hired: '1815-12-10T08:00:00.000Z',
      profile: { by: '', key: 'a', text: '\u0001' },
    });
    expect(second).toMatchObject({ fullName: null, pay: null, isRich: false, hired: null });
  });

  it('is part of every answer: an entity, a relation, a set, a list, a report, a function', async () => {
    expect(await read('Employee(a)/fullName')).toMatchObject({ fullName: 'Ada Byron' });
    expect(await entities('Company(1)/staff?$expand=staff&$attributes=fullName')).toMatchObject([
      { fullName: 'Ada Byron' },
      { fullName: 'Bob Ceco' },
    ]);
    const { __ENTITYSET: set } = await read('Employee?$method=entityset&$filter=salary > 40');
    const id = String(set).slice('/rest/'.length);
    expect(await entities(`${id}?$orderby=fullName desc&$attributes=fullName`)).toMatchObject([
      { fullName: 'Ada Zoe' },
      { fullName: 'Ada Byron' },
    ]);
    expect((await get('Employee/fullName?$asArray=true&$top=1')).text).toBe(
      '[{"__KEY":{"code":"a","__STAMP":1},"fullName":"Ada Byron"}]',
    );
    expect(await read('Employee/fullName,isRich,pay?$format=looker&$top=1')).toMatchObject({
      rows: [{ values: ['Ada Byron', 'true', 4000] }],
      schema: [{ dataType: 'STRING' }, { dataType: 'STRING' }, { dataType: 'NUMBER' }],
    });
    const called = await server.app.inject({
      method: 'POST',
      url: '/rest/Company/namedLike?$attributes=fullName',
      payload: ['ada zoe'],
    });
    expect(called.json()).toMatchObject({ __ENTITIES: [{ fullName: 'Ada Zoe' }] });
  });

  it('is read at any depth, and null where there is no entity', async () => {
    const attributes =
      'fullName,employer.shout,employer.staff.fullName,employer.staff.employer.shout';
    const found = await entities(`Employee?$attributes=${attributes}&$filter=code in [a, d]`);
    expect(found).toMatchObject([
      {
        fullName: 'Ada Byron',
        employer: {
          shout: 'Acme!',
          staff: {
            __ENTITIES: [
              { fullName: 'Ada Byron', employer: { shout: 'Acme!' } },
              { fullName: 'Bob Ceco', employer: { shout: 'Acme!' } },
            ],
          },
        },
      },
      { fullName: null, employer: null },
    ]);
  });

  it('costs one statement for each dataclass of an answer, however many entities it has', async () => {
    const many = Array.from({ length: 100 }, (_, index) => ({
      code: `many${index}`,
      firstName: 'Many',
      lastName: String(index),
      employer: 3,
    }));
    await create(server.app, 'Employee', many);
    const page = 'Company?$attributes=shout,staff.fullName,staff.pay,staff.employer.shout';
    await read(page);
    server.sql.length = 0;
    const text = JSON.stringify(await read(page));
    expect(text.split('"fullName":"Many ')).toHaveLength(101);
    expect(server.sql).toHaveLength(3);
    server.sql.length = 0;
    await read('Employee/firstName,plainName?$top=100');
    expect(server.sql.length).toBeLessThanOrEqual(2);
    const url = "/rest/Employee?$method=delete&$filter=firstName%20%3D%20'Many'";
    expect((await server.app.inject({ method: 'POST', url })).statusCode).toBe(200);
  });

  it('does not replace texts that look like its placeholders', async () => {
    const made = hostile.map((text, index) => ({
      code: `h${index}${index === 5 ? '' : text}`,
      firstName: text.replace('\u0000', ''),
      lastName: 'hostile',
    }));
    await create(server.app, 'Employee', made);
    const found = await entities("Employee/code,firstName,fullName?$filter=lastName = 'hostile'");
    const sorted = found.toSorted((a, b) => (String(a['code']) < String(b['code']) ? -1 : 1));
    expect(sorted).toMatchObject(
      made.map(({ code, firstName }) => ({ code, firstName, fullName: `${firstName} hostile` })),
    );
    const url = "/rest/Employee?$method=delete&$filter=lastName%20%3D%20'hostile'";
    expect((await server.app.inject({ method: 'POST', url })).statusCode).toBe(200);
  });

  it('that throws is an error of the server, which is logged with the name and hidden from clients', async () => {
    const failing = { code: 'x', firstName: 'throw', lastName: 'x' };
    const url = '/rest/Employee?$method=update';
    const response = await server.app.inject({ method: 'POST', url, payload: failing });
    expect([response.statusCode, response.json()]).toMatchObject([
      500,
      { __ERROR: [{ errCode: 1837 }] },
    ]);
    expect(response.body).not.toContain('getter');
    expect(server.logged.join('')).toContain('EmployeeEntity.bad failed: the getter fails');
  });

  it.each([
    ['text', 'it gave a string, expected a number'],
    ['promise', 'it gave a object, expected a number'],
  ])('that returns another type is an error of the server: %s', async (firstName, problem) => {
    const url = '/rest/Employee?$method=update';
    const payload = { code: 'x', firstName, lastName: 'x' };
    expect((await server.app.inject({ method: 'POST', url, payload })).statusCode).toBe(500);
    expect(server.logged.join('')).toContain(problem);
  });

  it('can refuse with an error for clients', async () => {
    const url = '/rest/Employee?$method=update';
    const payload = { code: 'x', firstName: 'rest', lastName: 'x' };
    const response = await server.app.inject({ method: 'POST', url, payload });
    expect([response.statusCode, response.json()]).toMatchObject([
      409,
      { __ERROR: [{ errCode: 4711, message: 'told' }] },
    ]);
  });
});

describe('An accessor query', () => {
  it('replaces the comparison with its filter', async () => {
    expect(await codes("fullName = 'ADA BYRON'")).toBe('a');
    expect(await codes("fullName = 'ada byron' or fullName = 'bob ceco'")).toBe('ab');
    expect(await codes("fullName in ['Ada Byron', 'Ada Zoe']")).toBe('ac');
    expect(await codes('fullName begin ada and not (salary > 1000)')).toBe('c');
    expect(await codes('fullName = null')).toBe('d');
    expect(await codes('isRich = true')).toBe('a');
  });

  it('is called with = for a !=, and its filter is negated', async () => {
    expect(await codes("fullName != 'ada byron'")).toBe('bcd');
    expect(asked()).toEqual([{ operator: '=', value: 'ada byron' }]);
  });

  it('applies to the entity at the end of a path', async () => {
    expect(await codes("employer.shout = 'acme!'")).toBe('ab');
    expect(await codes("employer.shout != 'acme!'")).toBe('cd');
    expect(await codes('employer.shout = null')).toBe('d');
    expect(await codes('employer.shout != null')).toBe('abc');
    const companies = async (filter: string): Promise<unknown> =>
      (await entities(`Company/ID?$filter=${filter}`)).map((each) => each['ID']);
    expect(await companies("staff.fullName = 'ada zoe'")).toEqual([2]);
    expect(await companies("staff.fullName != 'ada zoe'")).toEqual([1, 3]);
    // The same related entity (filters F17).
    expect(await companies("staff.fullName begin 'ada' and staff.salary < 100")).toEqual([2]);
    expect(await companies("staff.fullName begin 'ada' and staff{2}.salary < 100")).toEqual([1, 2]);
    expect(await companies("staff.employer.staff.fullName = 'bob ceco'")).toEqual([1]);
  });

  it('gets values in the types of class code', async () => {
    await codes('birthday = 1815-12-10');
    await codes('birthday in [1815-12-10, null]');
    await codes("hired > '1815-12-10T08:00:00Z'");
    expect((await get('Employee?$filter=hired = never')).status).toBe(400);
    expect(asked()).toEqual([
      { operator: '=', value: '1815-12-10' },
      { operator: 'in', value: ['1815-12-10', null] },
      { operator: '>', value: new Date('1815-12-10T08:00:00Z') },
    ]);
  });

  it('may use attributes that are not exposed', async () => {
    expect(await codes("hired = '1815-12-10'")).toBe('');
    expect((await get("Employee?$filter=secret = 'x'")).status).toBe(400);
  });

  it('is used by deletions, sets, pages and counts', async () => {
    await create(server.app, 'Employee', [{ code: 'del', firstName: 'Del', lastName: 'Ete' }]);
    const url = `/rest/Employee?$method=delete&$filter=${encodeURIComponent("fullName = 'del ete'")}`;
    expect((await server.app.inject({ method: 'POST', url })).json()).toEqual({ ok: true });
    expect(await codes("fullName = 'del ete'")).toBe('');
    expect(await read("Employee?$filter=fullName != 'ada byron'&$top=1&$skip=1")).toMatchObject({
      __COUNT: 3,
      __ENTITIES: [{ code: 'c' }],
    });
    expect(await read("Employee/salary?$compute=sum&$filter=fullName begin 'ada'")).toBe(2050);
    expect(await read("Employee/salary?$distinct=true&$filter=fullName begin 'ada'")).toEqual([
      50, 2000,
    ]);
    const made = await read(
      "Employee?$method=entityset&$filter=fullName begin 'ada'&$savedfilter=true",
    );
    expect(made['__COUNT']).toBe(2);
    const id = String(made['__ENTITYSET']).slice('/rest/'.length);
    expect(await read(`${id}?$filter=fullName = 'ada zoe'`)).toMatchObject({ __COUNT: 1 });
  });

  it('appears in a query plan only by its attribute', async () => {
    const answer = await read(
      "Employee?$filter=fullName = 'ada zoe' and salary > 1&$queryplan=true&$querypath=true",
    );
    expect(answer['__queryPlan']).toEqual({
      And: [{ item: 'Employee.salary > 1' }, { item: 'Employee.fullName : class code' }],
    });
    expect(JSON.stringify(answer['__queryPath'])).toContain('"recordsfounds":1');
  });

  it.each([
    [1, 'Employee.queryBad failed: The "nowhere" attribute cannot be found'],
    [2, 'Employee.queryBad failed: Character'],
    [3, 'Employee.queryBad failed'],
    [4, 'its filter must have no order by'],
    [5, 'it must return { filter, values }'],
    [6, 'class code computes pay'],
    [7, 'no such value'],
  ])('that returns a wrong filter is an error of the server (%s)', async (value, problem) => {
    const { status, text } = await get(`Employee?$filter=bad = ${value}`);
    expect([status, JSON.parse(text)]).toMatchObject([500, { __ERROR: [{ errCode: 1837 }] }]);
    expect(server.logged.join('').replaceAll('\\"', '"')).toContain(problem);
  });

  it('that leads back to itself is an error of the server', async () => {
    expect((await get('Employee?$filter=loop = 1')).status).toBe(500);
    expect(server.logged.join('')).toContain('lead to more than 20 others');
    expect((await get('Employee?$orderby=loop')).status).toBe(500);
  });

  it('that is missing is reported to the client', async () => {
    const { status, text } = await get('Employee?$filter=pay = 1');
    expect([status, JSON.parse(text)]).toMatchObject([400, { __ERROR: [{ errCode: 1112 }] }]);
    expect((await get('Employee?$filter=employer.staff.pay = 1')).status).toBe(400);
    expect((await get('Employee?$filter=profile.by = x')).status).toBe(400);
  });

  it('is not called with an operator that the type does not have', async () => {
    expect((await get('Employee?$filter=isRich begin x')).status).toBe(400);
    expect((await get('Employee?$filter=fullName > null')).status).toBe(400);
    expect((await get('Employee?$filter=isRich{2} = true')).status).toBe(400);
    expect(asked()).toEqual([]);
  });
});

describe('An accessor orderBy', () => {
  it('replaces the attribute with its order', async () => {
    const order = async (by: string): Promise<string> =>
      (await entities(`Employee/code?$orderby=${by}`)).map((each) => String(each['code'])).join('');
    expect(await order('fullName')).toBe('dabc');
    expect(await order('fullName desc')).toBe('cbad');
    expect(await order('employer.shout desc, fullName desc')).toBe('cbad');
    expect(await order('employer.shout, salary')).toBe('dbac');
    expect((await get('Employee?$orderby=pay')).text).toContain('no accessor \\"orderBy\\"');
    expect((await get('Company?$orderby=staff.fullName')).status).toBe(400);
  });

  it('cannot be continued by $cursor, whose token would show the values of its order', async () => {
    for (const asked of ['$orderby=fullName', '$filter=salary > 0 order by fullName']) {
      const { status, text } = await get(`Employee/code?${asked}&$top=1&$cursor=true`);
      expect([status, text]).toEqual([400, expect.stringMatching(/use \$skip.*"errCode":1810/)]);
    }
  });

  it('returns an order that no client can name in its place', async () => {
    const texts = ['!granted lastName,granted firstName', '!own code'];
    expect((await get('Employee/code?$orderby=fullName')).status).toBe(200);
    expect((await get('Employee?$orderby=fullName&$method=entityset')).status).toBe(200);
    for (const text of texts) {
      for (const rest of ['/code?', '?$method=entityset&']) {
        expect((await get(`Employee${rest}$orderby=${text}`)).text).toContain('"errCode":1810');
        const inFilter = await get(`Employee${rest}$filter=salary > 0 order by ${text}`);
        expect(inFilter.text).toContain('"errCode":1810');
      }
    }
  });

  it('that returns a wrong order is an error of the server', async () => {
    expect((await get('Employee?$orderby=bad')).status).toBe(500);
    expect(server.logged.join('')).toContain('Employee.orderByBad failed');
  });
});

describe('Functions', () => {
  async function call(name: string, ...values: readonly unknown[]): Promise<unknown> {
    const url = `/rest/Company/${name}?$attributes=fullName,lastName`;
    const response = await server.app.inject({ method: 'POST', url, payload: values as unknown[] });
    expect(response.statusCode, response.body).toBe(200);
    return response.json();
  }

  it('accept values for setters, and return values of getters for entities in memory', async () => {
    const person = { __DATACLASS: 'Employee', __ENTITY: true, fullName: 'Ada King' };
    expect(await call('renamed', { ...person, __KEY: 'a' }, '')).toMatchObject({
      __KEY: 'a',
      lastName: 'King',
      fullName: 'Ada King',
    });
    expect(await call('renamed', person, '')).toMatchObject({ __KEY: null, fullName: 'Ada King' });
    expect(await call('renamed', person, 'Alan Turing')).toMatchObject({ lastName: 'Turing' });
    expect(await read('Employee(a)/fullName')).toMatchObject({ fullName: 'Ada Byron' });
    const wrong = { ...person, fullName: 3 };
    const url = '/rest/Company/renamed';
    const refused = await server.app.inject({ method: 'POST', url, payload: [wrong, ''] });
    expect([refused.statusCode, refused.body]).toEqual([422, expect.stringContaining('a text')]);
    const thrown = { ...person, fullName: 'throw' };
    const failed = await server.app.inject({ method: 'POST', url, payload: [thrown, ''] });
    expect(failed.statusCode).toBe(500);
  });

  it('can filter and order their selections by computed attributes', async () => {
    expect(await call('found', 'ada')).toEqual({ result: ['2', 'Ada Zoe', 'Ada Byron', 'true'] });
    expect(await call('found', 'Acme!')).toEqual({
      result: ['2', 'Bob Ceco', 'Ada Byron', 'true'],
    });
  });
});

describe('A computed attribute that the database would have to evaluate', () => {
  it.each(['$compute=count', '$compute=$all', '$distinct=true'])('is refused: %s', async (asks) => {
    const { status, text } = await get(`Employee/fullName?${asks}`);
    expect([status, JSON.parse(text)]).toMatchObject([400, { __ERROR: [{ errCode: 1813 }] }]);
  });
});

describe('A filter and an order that are both wrong', () => {
  it.each([
    'Employee?$filter=fullName<null&$orderby=code,name[]',
    'Employee?$filter=fullName<null&$orderby=code sideways',
    'Employee?$filter=fullName<null order by :n',
    'Employee?$filter=bad=1&$orderby=bad',
    'Employee/code?$filter=fullName<null&$orderby=code sideways&$queryplan=true',
  ])('get one answer, and nothing else fails: %s', async (path) => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown): void => {
      unhandled.push(reason);
    };
    process.on('unhandledRejection', note);
    try {
      const { status } = await get(path);
      expect(status).toBe(path.includes('bad') ? 500 : 400);
      await setTimeout(5);
    } finally {
      process.off('unhandledRejection', note);
    }
    expect(unhandled).toEqual([]);
  });
});

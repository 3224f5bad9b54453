import type { FastifyInstance } from 'fastify';
import { expect, it } from 'vitest';
import { Client } from '../support/cookies.js';
import { describeDatabases, type TestDatabases } from '../support/databases.js';
import { loggedIn, rolesServerOf } from '../support/roles-server.js';
import { modelOf, serverOf } from '../support/server.js';

/** Names that statements use for other things, and one of the maximum length on PostgreSQL. */
const names = [
  ...['pattern', 'item', 'listed', 'other', 'beside', 'ordered', 't1', 'free', 'raised'],
  'N'.repeat(63),
];

/** The dataclass in the table of each of these names, and in one with an ordinary name. */
const tables = ['Plain', ...names].map((table, index) => ({ table, of: `Of${index}` }));

const open = `
drs: 1
name: tables
protocol: { wildcard: true }
dataclasses:
${tables
  .map(
    ({ table, of }) => `
  ${of}:
    table: ${table}
    attributes:
      number: { type: integer, key: true, column: key }
      value: string
      parts: { to: ${of}Part, many: true, inverse: thing }
  ${of}Part:
    attributes:
      ID: { type: integer, key: true }
      thing: { to: ${of}, foreignKey: thingID, inverse: parts, onDelete: cascade }
      thingID: { type: integer, exposed: false }`,
  )
  .join('')}
`;

const restricted = `
drs: 1
name: tables
dataclasses:
${tables
  .map(
    ({ table, of }) => `
  ${of}:
    table: ${table}
    attributes:
      ID: { type: integer, key: true }
      flag: integer
      parent: { to: ${of}, foreignKey: parentID, inverse: children }
      parentID: { type: integer, exposed: false }
      children: { to: ${of}, many: true, inverse: parent }
    restrict: true`,
  )
  .join('')}
roles:
  restrictedByDefault: false
  privileges: [{ privilege: all }]
  permissions: { allowed: [] }
`;

const restrictions = Object.fromEntries(
  tables.map(({ of }) => [
    `src/classes/${of}.ts`,
    `
import type { Session } from '#runtime/class';
import { ${of}Base } from '../generated/api.js';

export class ${of} extends ${of}Base {
  override restrict(session: Session): string | null {
    return session.hasPrivilege('all') ? null : 'parent.flag = 1 and ID > 0';
  }
}
`,
  ]),
);

async function withServer(
  { driver, create }: TestDatabases,
  yaml: string,
  files: Readonly<Record<string, string>>,
  ask: (app: FastifyInstance) => Promise<void>,
): Promise<void> {
  const { url: databaseUrl, drop } = await create();
  const model = { ...modelOf(yaml), databases: [driver] };
  const app =
    Object.keys(files).length === 0
      ? await serverOf(model, { databaseUrl })
      : await rolesServerOf(model, { databaseUrl }, files);
  try {
    await ask(app);
  } finally {
    await app.close();
    await drop();
  }
}

/** The answers for a dataclass that is filtered, locked and deleted from. */
async function seen(app: FastifyInstance, of: string): Promise<readonly unknown[]> {
  const [one, other] = [new Client(app), new Client(app)];
  const things = ['alpha', 'beta', 'gamma'].map((value, index) => ({ number: index + 1, value }));
  await one.post(`/rest/${of}?$method=update`, things);
  await one.post(`/rest/${of}Part?$method=update`, [
    { ID: 1, thing: 1 },
    { ID: 2, thing: 3 },
  ]);
  const keys = async (filter: string, params: readonly unknown[]): Promise<unknown> => {
    const query = new URLSearchParams({ $filter: filter, $params: JSON.stringify(params) });
    const answer = await one.get(`/rest/${of}?${query.toString()}`);
    return answer
      .json<{ readonly __ENTITIES?: readonly { __KEY: string }[] }>()
      .__ENTITIES?.map(({ __KEY }) => __KEY);
  };
  const answers: unknown[] = [
    await keys('value in :1', [['al@', 'be@']]),
    await keys('not (value in :1)', [['al@', 'be@']]),
    await keys('number in :1', [[1, 3]]),
    await keys('parts.ID in :1', [[2]]),
  ];
  await other.get(`/rest/${of}(3)?$lock=true`);
  const deletions = [
    await one.post(`/rest/${of}(1)?$method=delete`, undefined),
    await one.post(`/rest/${of}(3)?$method=delete`, undefined),
  ];
  answers.push(deletions.map(({ statusCode }) => statusCode));
  answers.push(await keys('number > 0', []));
  answers.push((await one.post(`/rest/${of}(2)`, { __STAMP: 1, value: 'delta' })).statusCode);
  return answers;
}

/** The answers to a guest for nodes that are restricted by their parents. */
async function seenByGuest(app: FastifyInstance, of: string): Promise<readonly unknown[]> {
  const all = await loggedIn(app, { privileges: ['all'] });
  const nodes = [
    { ID: 1, flag: 1 },
    { ID: 2, flag: 0, parent: 1 },
    { ID: 3, flag: 1, parent: 2 },
    { ID: 4, flag: 0, parent: 4 },
    { ID: 5, flag: 0, parent: 3 },
  ];
  const stored = await all.post(`/rest/${of}?$method=update`, nodes);
  expect(stored.statusCode, stored.body).toBe(200);
  const urls = ['', '(3)', '(2)', '?$orderby=flag&$expand=parent,children', '?$filter="flag=0"'];
  const answers: unknown[] = [];
  for (const url of urls) {
    const { statusCode, body } = await app.inject(`/rest/${of}${url}`);
    const own = new RegExp(`"__TIMESTAMP":"[^"]*"|"__GlobalStamp":\\d+|\\b${of}\\b`, 'g');
    answers.push([statusCode, body.replaceAll(own, '')]);
  }
  const change = JSON.stringify({ __KEY: '3', __STAMP: 1, flag: 7 });
  const url = `/rest/${of}?$method=update`;
  const { statusCode } = await app.inject({ method: 'POST', url, payload: change });
  return [...answers, statusCode];
}

describeDatabases('A table with a name that statements use for something else', (databases) => {
  it('is filtered, locked and deleted from like any other', async () => {
    await withServer(databases, open, {}, async (app) => {
      const plain = [['1', '2'], ['3'], ['1', '3'], ['3'], [200, 423], ['2', '3'], 200];
      for (const { table, of } of tables) expect(await seen(app, of), table).toEqual(plain);
    });
  });

  it('is restricted like any other', async () => {
    await withServer(databases, restricted, restrictions, async (app) => {
      const plain = await seenByGuest(app, 'Of0');
      expect(JSON.stringify(plain[0])).toContain('\\"__COUNT\\":2,');
      expect(plain.at(-1)).not.toBe(200);
      for (const { table, of } of tables) {
        if (table !== 'Plain') expect(await seenByGuest(app, of), table).toEqual(plain);
      }
    });
  });
});

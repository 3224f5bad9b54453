import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lazyCompiler } from '../../generator/cli/compiler.js';
import type { World } from '../../generator/cli/world.js';
import { fakeWorld, type FakeWorld } from '../support/fake-world.js';

const compiler = lazyCompiler;

const base = `drs: 1
name: shop
database: [sqlite, postgres]
reportFormat: looker
origins: ['https://a.example']
dataclasses:
  Customer:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: { type: string, maxLength: 20 }
      note: { type: string, mandatory: true }
      kind: { type: string, enum: [new, old], default: new }
      hidden: { type: string, exposed: false }
      size: { type: integer, min: 1 }
      born: { type: date, dateOnly: true }
      orders: { to: Order, many: true, inverse: customer }
      label: { computed: string, expression: upper(name) }
      age: { computed: number, accessors: [get, query] }
    indexes: [[name, kind]]
    events: [saving]
    functions:
      entity:
        greet: { exposed: true, onHTTPGet: true, params: { one: string, two: { type: number, optional: true } }, returns: string }
        own: {}
  Order:
    attributes:
      ID: { type: uuid, key: true, generated: uuid }
      customer: { to: Customer, inverse: orders }
      customerName: { alias: customer.name }
      siblings: { alias: customer.orders }
      total: number
singletons:
  Clock: { functions: { now: { exposed: true } } }
jobs:
  mail: { params: { to: string } }
  tidy: {}
roles:
  restrictedByDefault: false
  privileges: [{ privilege: view }, { privilege: edit, includes: [view] }]
  roles: [{ role: clerk, privileges: [edit] }]
  permissions:
    allowed:
      - { applyTo: Order, type: dataclass, read: [view], update: [edit] }
`;

interface ChangeJson {
  readonly severity: string;
  readonly code: string;
  readonly message: string;
  readonly help: string | null;
  readonly start?: string;
  readonly line: number | null;
  readonly column: number | null;
}

interface DiffJson {
  readonly ok: boolean;
  readonly data: readonly ChangeJson[];
  readonly clients: readonly ChangeJson[];
  readonly classCode: readonly ChangeJson[];
}

const lists = ['data', 'clients', 'classCode'] as const;

function edited(...replacements: readonly (readonly [string, string])[]): string {
  let text = base;
  for (const [from, to] of replacements) {
    expect(text, `${from} stands in the model`).toContain(from);
    text = text.replace(from, to);
  }
  return text;
}

function worldWith(older: string, newer: string): FakeWorld {
  const world = fakeWorld({ compiler });
  world.disk.put('/home/old.yaml', older);
  world.disk.put('/home/new.yaml', newer);
  return world;
}

/** The output of `--json`, after a comparison with the text. */
async function diffOf(newer: string, older = base): Promise<DiffJson> {
  const world = worldWith(older, newer);
  const json = await world.run('diff old.yaml new.yaml --json');
  expect([json.code, json.err]).toEqual([0, '']);
  const found = JSON.parse(json.out) as DiffJson;
  const { out } = await world.run('diff old.yaml new.yaml');
  const lines = out.split('\n').filter((line) => /^ {2}\w/.test(line));
  const all = lists.flatMap((list) => found[list]);
  expect(lines.length).toBe(all.length);
  for (const [index, { severity, message, line, column, help }] of all.entries()) {
    expect(lines[index]).toContain(`  ${severity} `);
    // A removed key of the top level has no place.
    const place = line === null ? '' : `new.yaml:${String(line)}:${String(column)}  `;
    expect(lines[index]).toContain(`  ${place}${message}`);
    if (help !== null) expect(out).toContain(`\n          ${help}\n`);
  }
  const checked = await world.run('diff old.yaml new.yaml --check');
  const isHarmful = all.some(({ severity }) => severity === 'lost' || severity === 'breaks');
  expect([checked.code, found.ok]).toEqual([isHarmful ? 1 : 0, !isHarmful]);
  return found;
}

/** `data lost column-changed applied`, one for each change. */
function codes(found: DiffJson): readonly string[] {
  return lists.flatMap((list) =>
    found[list].map(({ severity, code, start }) =>
      [list, severity, code, start].filter((each) => each !== undefined).join(' '),
    ),
  );
}

type Row = readonly [
  title: string,
  replacements: readonly (readonly [string, string])[],
  expected: readonly string[],
];

const rows: readonly Row[] = [
  ['the same model', [], []],
  [
    'an attribute that is new and optional',
    [['total: number', 'total: number\n      paid: boolean']],
    ['data fine column-added applied', 'clients fine added'],
  ],
  [
    'an attribute that is new and mandatory',
    [['total: number', 'total: number\n      paid: { type: boolean, mandatory: true }']],
    ['data look column-mandatory rows', 'clients breaks mandatory'],
  ],
  [
    'a mandatory attribute with a default',
    [
      [
        'total: number',
        'total: number\n      paid: { type: boolean, mandatory: true, default: false }',
      ],
    ],
    ['data fine column-filled applied', 'clients fine added'],
  ],
  [
    'an attribute that was removed',
    [['      total: number\n', '']],
    ['data look column-unused applied', 'clients breaks removed'],
  ],
  [
    'a hidden attribute that was removed',
    [['      hidden: { type: string, exposed: false }\n', '']],
    ['data look column-unused applied'],
  ],
  [
    'an attribute that was renamed without a word',
    [['total: number', 'sum: number']],
    [
      'data look column-unused applied',
      'data look attribute-maybe-renamed',
      'data fine column-added applied',
      'clients breaks removed',
      'clients fine added',
    ],
  ],
  [
    'an attribute that was renamed',
    [['total: number', 'sum: { type: number, renamedFrom: total }']],
    [
      'data fine attribute-renamed applied',
      'clients breaks renamed',
      'classCode fine code-renamed',
    ],
  ],
  [
    'a new name for clients',
    [['total: number', 'total: { type: number, restName: Sum total }']],
    ['clients breaks renamed'],
  ],
  [
    'an attribute that was renamed, and keeps its name for clients',
    [['total: number', 'sum: { type: number, renamedFrom: total, restName: total }']],
    ['data fine attribute-renamed applied', 'classCode fine code-renamed'],
  ],
  [
    'a relation that was renamed',
    [
      ['customer: { to: Customer', 'buyer: { renamedFrom: customer, to: Customer'],
      ['inverse: customer', 'inverse: buyer'],
      ['alias: customer.name', 'alias: buyer.name'],
      ['alias: customer.orders', 'alias: buyer.orders'],
    ],
    [
      'data fine attribute-renamed applied',
      'clients breaks renamed',
      'classCode fine code-renamed',
    ],
  ],
  [
    'a column that changes its name',
    [['total: number', 'total: { type: number, column: sum }']],
    ['data look column-changed plan'],
  ],
  [
    'a dataclass that is new',
    [['singletons:', '  Item: { attributes: { ID: { type: integer, key: true } } }\nsingletons:']],
    ['data fine table-added applied', 'clients fine added'],
  ],
  [
    'a table that changes its name',
    [['  Order:\n', '  Order:\n    table: sales\n']],
    ['data look table-changed plan'],
  ],
  [
    'a database that is no longer opened',
    [['[sqlite, postgres]', 'sqlite']],
    ['data lost database-removed'],
  ],
  [
    'another default database',
    [['[sqlite, postgres]', '[postgres, sqlite]']],
    ['data look database-default'],
  ],
  [
    'the scope of a singleton',
    [['Clock: {', 'Clock: { scope: session,']],
    ['clients look scope-changed'],
  ],
  [
    'rules that become tighter',
    [
      ['maxLength: 20', 'maxLength: 10'],
      ['min: 1', 'min: 2'],
      ['[new, old]', '[new]'],
    ],
    [
      'data look maxLength-tightened rows',
      'data look enum-tightened rows',
      'data look min-tightened rows',
      'clients breaks narrower',
      'clients breaks narrower',
      'clients breaks narrower',
    ],
  ],
  [
    'rules that become looser',
    [
      ['maxLength: 20', 'maxLength: 30'],
      ['min: 1', 'min: 0'],
      ['[new, old]', '[new, old, dead]'],
      ['note: { type: string, mandatory: true }', 'note: string'],
    ],
    [
      'data fine maxLength-loosened applied',
      'data fine mandatory-loosened applied',
      'data fine enum-loosened applied',
      'data fine min-loosened applied',
      'clients look optional',
      'clients fine wider',
      'clients fine wider',
      'clients fine wider',
    ],
  ],
  [
    'a pattern',
    [['total: number', 'total: number\n      code: { type: string, pattern: x }']],
    ['data fine column-added applied', 'clients fine added'],
  ],
  [
    'an attribute that becomes mandatory, unique or read-only',
    [
      [
        'name: { type: string, maxLength: 20',
        'name: { type: string, maxLength: 20, mandatory: true',
      ],
      ['total: number', 'total: { type: number, unique: true, readOnly: true }'],
    ],
    [
      'data look mandatory-tightened rows',
      'data look unique-tightened rows',
      'data fine index-changed applied',
      'clients breaks mandatory',
      'clients breaks read-only',
      'clients breaks narrower',
    ],
  ],
  [
    'a type that changes in the column',
    [['total: number', 'total: string']],
    ['data look type-changed plan', 'clients breaks type-changed'],
  ],
  [
    'a type that loses values',
    [['note: { type: string', 'note: { type: integer']],
    ['data lost type-changed plan', 'clients breaks type-changed'],
  ],
  [
    'a type that changes and not the column',
    [['born: { type: date, dateOnly: true }', 'born: string']],
    ['data look type-changed plan', 'clients breaks type-changed'],
  ],
  [
    'a day that gets a time',
    [['dateOnly: true', 'dateOnly: false']],
    ['data look type-changed plan', 'clients breaks type-changed'],
  ],
  [
    'an expression',
    [['upper(name)', 'lower(name)']],
    ['data fine expression-changed applied', 'clients look source-changed'],
  ],
  [
    'an expression that becomes an attribute of its own',
    [['label: { computed: string, expression: upper(name) }', 'label: string']],
    ['data lost column-kind plan', 'clients look source-changed'],
  ],
  [
    'another default',
    [['default: new', 'default: old']],
    ['data fine default-changed applied', 'clients look default-changed'],
  ],
  ['indexes', [['[[name, kind]]', '[[kind, name]]']], ['data fine indexes-changed applied']],
  [
    'an index that becomes unique',
    [['[[name, kind]]', '[{ unique: true, attributes: [name, kind] }]']],
    ['data look unique-tightened rows', 'clients breaks narrower'],
  ],
  [
    'another primary key',
    [
      ['ID: { type: uuid, key: true, generated: uuid }', 'ID: uuid'],
      ['total: number', 'total: { type: integer, key: true }'],
    ],
    [
      'data lost key-changed plan',
      'data lost type-changed plan',
      'data fine mandatory-loosened applied',
      'data fine unique-loosened applied',
      'data look generated-changed applied',
      'data fine index-changed applied',
      'clients breaks type-changed',
      'clients look optional',
    ],
  ],
  [
    'onDelete and mandatory of a relation',
    [
      [
        '{ to: Customer, inverse: orders }',
        '{ to: Customer, inverse: orders, mandatory: true, onDelete: cascade }',
      ],
    ],
    ['data look mandatory-tightened rows', 'clients breaks mandatory', 'clients look on-delete'],
  ],
  [
    'a relation that may lead nowhere',
    [['{ to: Customer, inverse: orders }', '{ to: Customer, inverse: orders, onDelete: none }']],
    ['data fine reference-removed applied', 'clients look on-delete'],
  ],
  [
    'the target of a relation',
    [
      ['      customerName: { alias: customer.name }\n', ''],
      ['      siblings: { alias: customer.orders }\n', ''],
      ['      orders: { to: Order, many: true, inverse: customer }\n', ''],
      ['{ to: Customer, inverse: orders }', '{ to: Order }'],
    ],
    [
      'data lost type-changed plan',
      'clients breaks removed',
      'clients breaks removed',
      'clients breaks removed',
      'clients breaks type-changed',
    ],
  ],
  [
    'the path of an alias',
    [['alias: customer.name', 'alias: customer.note']],
    ['clients look source-changed'],
  ],
  [
    'the path of an alias that is a relation',
    [['alias: customer.orders', 'alias: customer.orders.customer.orders']],
    ['clients look source-changed'],
  ],
  [
    'an alias that leads to one entity instead of many',
    [['alias: customer.orders', 'alias: customer']],
    ['clients breaks type-changed'],
  ],
  [
    'a to-many relation that was renamed, and the path of an alias with it',
    [
      ['orders: { to: Order', 'sales: { renamedFrom: orders, to: Order'],
      ['inverse: orders', 'inverse: sales'],
      ['alias: customer.orders', 'alias: customer.sales'],
    ],
    ['clients breaks renamed', 'classCode fine code-renamed'],
  ],
  [
    'arguments, results and the verb of a function',
    [
      [
        'onHTTPGet: true, params: { one: string, two: { type: number, optional: true } }, returns: string',
        'params: { one: string, two: number }, returns: number',
      ],
    ],
    [
      'clients breaks get-closed',
      'clients breaks arguments-changed',
      'clients breaks result-changed',
      'classCode look code-signature',
    ],
  ],
  [
    'a parameter that may be left out',
    [
      [
        'two: { type: number, optional: true }',
        'two: { type: number, optional: true }, three: { type: date, optional: true }',
      ],
    ],
    ['classCode look code-signature'],
  ],
  [
    'functions that are new, gone and renamed',
    [
      ['greet: { exposed', 'hail: { renamedFrom: greet, exposed'],
      ['own: {}', 'other: {}'],
      ['now: { exposed: true }', 'now: {}'],
    ],
    [
      'clients breaks renamed',
      'clients breaks removed',
      'classCode fine code-renamed',
      'classCode look code-uncalled',
      'classCode look code-missing',
    ],
  ],
  [
    'jobs that are new, gone and changed',
    [
      ['{ to: string }', '{ to: string, on: { type: date, optional: true } }'],
      ['tidy: {}', 'clean: {}'],
    ],
    ['classCode look job-removed', 'classCode look code-missing', 'classCode look job-parameters'],
  ],
  [
    'events, accessors and restrict',
    [
      ['[saving]', '[afterSave]'],
      ['[get, query]', '[get, set]'],
      ['    indexes:', '    restrict: true\n    indexes:'],
    ],
    [
      'clients breaks narrower',
      'clients look restricted',
      'classCode look code-missing',
      'classCode look code-uncalled',
      'classCode look code-missing',
      'classCode look code-missing',
      'classCode look code-uncalled',
    ],
  ],
  [
    'what sessions may store',
    [['    indexes:', '    restrict: { writes: true }\n    indexes:']],
    ['clients look restricted', 'clients look restricts-writes', 'classCode look code-missing'],
  ],
  [
    'what roles close and open',
    [['read: [view], update: [edit]', 'read: [edit], create: [edit]']],
    ['clients breaks closed', 'clients breaks closed', 'clients look opened'],
  ],
  [
    'roles and privileges that were removed',
    [
      ['roles: [{ role: clerk, privileges: [edit] }]', 'roles: []'],
      ['{ privilege: view }, { privilege: edit, includes: [view] }', '{ privilege: view }'],
      [', update: [edit]', ''],
    ],
    [
      'clients breaks privilege-removed',
      'clients breaks role-removed',
      'clients breaks closed',
      'clients look opened',
    ],
  ],
  [
    'roles and privileges that were renamed',
    [
      [
        '{ privilege: edit, includes: [view] }',
        '{ privilege: write, renamedFrom: edit, includes: [view] }',
      ],
      [
        '{ role: clerk, privileges: [edit] }',
        '{ role: agent, renamedFrom: clerk, privileges: [write] }',
      ],
      ['update: [edit]', 'update: [write]'],
    ],
    ['clients fine renamed', 'clients fine renamed'],
  ],
  [
    'a compatibility',
    [
      [
        'name: shop',
        'name: shop\nprotocol: { compatibility: wakanda, dateOnlyFormat: iso, wildcard: false }',
      ],
    ],
    ['clients look setting-changed'],
  ],
  [
    'settings',
    [
      [
        'name: shop',
        'name: store\nlimits: { maxPageSize: 500 }\nprotocol: { dateOnlyFormat: bang, wildcard: true }',
      ],
      ['reportFormat: looker', 'reportFormat: bi'],
      ["\norigins: ['https://a.example']", ''],
    ],
    [
      'clients breaks setting-changed',
      'clients breaks setting-changed',
      'clients breaks setting-changed',
      'clients look setting-changed',
      'clients look setting-changed',
      'clients look limit-changed',
    ],
  ],
];

describe('drs-gen diff', () => {
  it.each(rows)('reports %s', async (_title, replacements, expected) => {
    const found = await diffOf(edited(...replacements));
    expect(codes(found).toSorted()).toEqual(expected.toSorted());
  });

  it('reports the rename of a dataclass once, although relations, aliases and functions use it', async () => {
    const renamed = edited(['  Customer:\n', '  Client:\n    renamedFrom: Customer\n']).replaceAll(
      'to: Customer',
      'to: Client',
    );
    const found = await diffOf(renamed);
    expect(codes(found)).toEqual([
      'data fine dataclass-renamed applied',
      'clients breaks renamed',
      'clients look collection-renamed',
      'classCode fine code-renamed',
    ]);
    expect(found.data[0]?.message).toBe(
      'Customer is called Client now: its rows stay in the table Customer.',
    );
  });

  it('reports a relation that leads to another dataclass with keys of the same type', async () => {
    const withItem = (target: string): string =>
      edited(
        ['total: number', `total: number\n      pal: { to: ${target} }`],
        [
          'singletons:',
          '  Item: { attributes: { ID: { type: integer, key: true } } }\nsingletons:',
        ],
      );
    const found = await diffOf(withItem('Item'), withItem('Customer'));
    expect(codes(found)).toEqual([
      'data look reference-changed rows',
      'clients breaks type-changed',
    ]);
  });

  it('reports a function whose code gets fewer privileges', async () => {
    const allowed = '      - { applyTo: Customer.greet, type: method, promote: [edit] }\n';
    const found = await diffOf(base, base + allowed);
    expect(codes(found)).toEqual(['clients breaks closed']);
    expect(found.clients[0]?.message).toBe(
      'Customer.greet() no longer gives its code edit and view.',
    );
  });

  it('reports which changes are recorded from now on, and which no longer', async () => {
    const audited = (audit: string): string =>
      edited(['total: number', `total: number\n    audit: ${audit}`]);
    const reported = async (newer: string, older?: string): Promise<readonly string[]> => {
      const found = await diffOf(newer, older);
      return found.data.map(({ severity, code, message }) => `${severity} ${code}: ${message}`);
    };
    expect(await reported(audited('[total]'))).toEqual([
      'fine audit-begun: Changes of Order are recorded from now on, of total.',
    ]);
    expect(await reported(base, audited('[total]'))).toEqual([
      'look audit-ended: Changes of Order are no longer recorded: the entries stay in the table __audit.',
    ]);
    const shorter = '{ attributes: [customer], days: 30 }';
    expect(await reported(audited(shorter), audited('[total]'))).toEqual([
      'lost audit-shortened: Order: recorded changes that are older than 30 days are deleted.',
      'look audit-changed: Changes of Order record customer_id from now on and no longer total.',
    ]);
    expect(await reported(audited('[total]'), audited('[total]'))).toEqual([]);
  });

  it('suggests the line for a probable rename', async () => {
    const older = edited(['total: number', 'sum: { type: number, renamedFrom: total }']);
    const found = await diffOf(edited(['total: number', 'amount: number']), older);
    expect(found.data.find(({ code }) => code === 'attribute-maybe-renamed')).toMatchObject({
      message: expect.stringMatching(
        /^Order\.amount is new, and Order\.sum of the same type was removed/,
      ) as unknown,
      help: 'if it was renamed, write renamedFrom: [total, sum]',
    });
    const dataclass = await diffOf(
      edited(['  Customer:\n', '  Client:\n']).replaceAll('to: Customer', 'to: Client'),
    );
    expect(dataclass.data.find(({ code }) => code === 'dataclass-maybe-renamed')).toMatchObject({
      help: 'if Customer was renamed, write renamedFrom: Customer',
    });
    // The newest name alone does not tell the column.
    const chain = await diffOf(
      edited(['total: number', 'amount: { type: number, renamedFrom: sum }']),
      older,
    );
    expect(chain.data[0]).toMatchObject({
      code: 'column-changed',
      help: 'npx drs-gen migrate writes it; to keep the column, write renamedFrom: [total, sum]',
    });
  });

  it('reports that a migration renames a part whose renamedFrom was removed', async () => {
    const older = edited(
      ['  Customer:\n', '  Client:\n    renamedFrom: Customer\n'],
      ['total: number', 'sum: { type: number, renamedFrom: total }'],
    ).replaceAll('to: Customer', 'to: Client');
    const tidy = older
      .replace('    renamedFrom: Customer\n', '')
      .replace(', renamedFrom: total', '');
    const found = await diffOf(tidy.replace('maxLength: 20', 'maxLength: 10'), older);
    expect(codes(found)).toEqual([
      'data look table-changed plan',
      'data look maxLength-tightened rows',
      'data look column-changed plan',
      'clients breaks narrower',
    ]);
    expect(found.data.map(({ message }) => message)).toContain(
      'Order.sum had the column total in the older model, and has sum now: a database with the former column needs a migration that renames it.',
    );
  });

  it('reports that the type of a key cannot change, and which types a start accepts as they are', async () => {
    const key = edited([
      'ID: { type: uuid, key: true, generated: uuid }',
      'ID: { type: integer, key: true }',
    ]);
    expect((await diffOf(key)).data[0]).toMatchObject({
      severity: 'lost',
      code: 'type-changed',
      message: 'Order.ID was a uuid and is an integer: no migration changes the type of a key.',
      start: 'plan',
    });
    const added = (type: string): string =>
      edited(['total: number', `total: number\n      token: ${type}`]);
    const found = await diffOf(added('string'), added('uuid'));
    expect(codes(found)).toContain('data look type-changed applied');
  });

  it('shows the place of each change, and the old place of what was removed', async () => {
    const text = edited(['maxLength: 20', 'maxLength: 10'], ['      total: number\n', '']);
    const lines = text.split('\n');
    const { data } = await diffOf(text);
    const at = (found: ChangeJson | undefined): string =>
      (lines[(found?.line ?? 0) - 1] ?? '').slice((found?.column ?? 0) - 1);
    expect(at(data.find(({ code }) => code === 'maxLength-tightened'))).toMatch(/^maxLength: 10/);
    expect(at(data.find(({ code }) => code === 'column-unused'))).toMatch(/^attributes:/);
  });

  it('reports that nothing differs, as a message', async () => {
    expect(await worldWith(base, base).run('diff old.yaml new.yaml')).toEqual({
      code: 0,
      out: '',
      err: 'Nothing differs for data, clients and class code.\n',
    });
  });

  it('prints no control characters of a model', async () => {
    const text = edited(['name: { type', 'total: { type']).replace(
      '[new, old]',
      '["\\e[31m", new]',
    );
    const { out } = await worldWith(
      base,
      text
        .replace('upper(name)', 'upper(total)')
        .replace('[[name', '[[total')
        .replace('customer.name', 'customer.total'),
    ).run('diff old.yaml new.yaml');
    expect(out).not.toContain('\u001b');
  });

  it('reports the errors of either model, and compares nothing', async () => {
    const world = worldWith(base, edited(['total: number', 'total: nmber']));
    const { code, out, err } = await world.run('diff old.yaml new.yaml');
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain('shape/unknown-value');
    expect(err).toMatch(/new\.yaml has errors, and cannot be compared\.\n$/);
    const json = await world.run('diff new.yaml old.yaml --json');
    expect(json.code).toBe(1);
    expect(JSON.parse(json.out)).toMatchObject({
      ok: false,
      diagnostics: [{ code: 'shape/unknown-value', file: 'new.yaml' }],
    });
  });
});

it('drs-gen diff reads the lock of an earlier drs-gen, which called computed attributes calculated', async () => {
  const world = worldWith(base, base);
  const { value } = await compiler.check({ file: 'm', text: base, readBeside: () => undefined });
  if (value === undefined) throw new Error('The model has errors.');
  const lock = (await compiler.serialize(value)).replaceAll('"computed"', '"calculated"');
  world.disk.put('/home/server/.drs-gen/model.lock.json', lock);
  const { code, out } = await world.run('diff server new.yaml --json');
  expect({ code, ...(JSON.parse(out) as object) }).toMatchObject({
    code: 0,
    data: [],
    clients: [],
  });
});

describe('drs-gen diff with unreadable input', () => {
  const world = worldWith(base, base);
  world.disk.put('/home/empty/readme.txt', '');
  world.disk.put('/home/broken/.drs-gen/model.lock.json', '{');
  world.disk.put('/home/newer/.drs-gen/model.lock.json', '{ "drs": 2 }');
  world.disk.put('/home/other/.drs-gen/model.lock.json', '{ "name": "x", "dataclasses": [{}] }');

  it.each([
    [
      'nix.yaml',
      'error: Cannot read nix.yaml: there is no such file or folder. A model of an earlier revision is named as git does: HEAD~3:model.yaml.\n',
    ],
    ['C:\\nix.yaml', /Cannot read C:\\nix.yaml: there is no such file/],
    [
      'empty',
      /^error: empty is no server that drs-gen has generated: it holds no \.drs-gen\/model\.lock\.json/,
    ],
    ['broken', /^error: Cannot read broken\/.drs-gen\/model.lock.json: it is no JSON: /],
    [
      'newer',
      'error: Cannot read newer/.drs-gen/model.lock.json: it has the version 2, and this drs-gen reads 1.\n',
    ],
    ['other', 'error: Cannot read other/.drs-gen/model.lock.json: it holds no model.\n'],
    ['HEAD:model.yaml', 'error: Cannot read HEAD:model.yaml: git is not installed.\n'],
  ])('ends with 2: %s', async (named, message) => {
    for (const line of [`diff ${named} new.yaml`, `diff new.yaml ${named} --json`]) {
      const { code, out, err } = await world.run(line);
      expect({ code, out }).toEqual({ code: 2, out: '' });
      if (typeof message === 'string') expect(err).toBe(message);
      else expect(err).toMatch(message);
    }
  });
});

describe('drs-gen diff with Git revisions', () => {
  let folder: string;

  const git = (...args: readonly string[]): ReturnType<NonNullable<World['git']>> => {
    const { status, stdout, stderr } = spawnSync('git', args, {
      cwd: folder,
      env: {
        ...process.env,
        LC_ALL: 'C',
        GIT_CONFIG_NOSYSTEM: '1',
        HOME: folder,
        GIT_AUTHOR_NAME: 'a',
        GIT_AUTHOR_EMAIL: 'a@example.com',
        GIT_COMMITTER_NAME: 'a',
        GIT_COMMITTER_EMAIL: 'a@example.com',
      },
    });
    return { code: status ?? 1, stdout, stderr: stderr.toString() };
  };
  const commit = (files: Readonly<Record<string, string>>): void => {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    git('add', '--all');
    expect(git('commit', '--quiet', '--message', 'x')?.code).toBe(0);
  };
  const diff = async (line: string): Promise<{ code: number; out: string; err: string }> => {
    const world = fakeWorld({ compiler });
    const given = { ...world, git: (args: readonly string[]) => git(...args) };
    const { run } = await import('../../generator/cli/program.js');
    let [out, err] = ['', ''];
    const stream = (write: (text: string) => void): World['stdout'] => ({ write, isTTY: false });
    const code = await run(line.split(' '), {
      ...given,
      stdout: stream((text) => {
        out += text;
      }),
      stderr: stream((text) => {
        err += text;
      }),
    });
    return { code, out, err };
  };

  const withRoles = (privilege: string): Readonly<Record<string, string>> => ({
    'app/conf/roles.json': JSON.stringify({
      privileges: [{ privilege: 'view' }, { privilege: 'edit' }],
      permissions: { allowed: [{ applyTo: 'Order', type: 'dataclass', read: [privilege] }] },
    }),
    'app/model.yaml': `${base.slice(0, base.indexOf('roles:'))}roles: conf/roles.json\n`,
  });

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'drs-diff-'));
    git('init', '--quiet');
    commit(withRoles('view'));
    commit(withRoles('edit'));
    const { value } = await compiler.check({ file: 'm', text: base, readBeside: () => undefined });
    if (value === undefined) throw new Error('The model has errors.');
    commit({ 'server/.drs-gen/model.lock.json': await compiler.serialize(value) });
  });

  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  it('reads the roles file of the same revision', async () => {
    const { code, out, err } = await diff('diff HEAD~2:app/model.yaml HEAD:app/model.yaml');
    expect([code, err]).toEqual([0, '']);
    expect(out).toBe(
      'Clients\n  breaks  HEAD:app/model.yaml:25:3  Order: read is open to edit, and was open to view.\n',
    );
  });

  it('reads the lock file of a server in a revision', async () => {
    for (const server of ['HEAD:server', 'HEAD:server/.drs-gen/model.lock.json']) {
      const { code, out, err } = await diff(`diff ${server} ${server}`);
      expect([code, out, err]).toEqual([
        0,
        '',
        'Nothing differs for data, clients and class code.\n',
      ]);
    }
  });

  it.each([
    ['HEAD~9:app/model.yaml', "invalid object name 'HEAD~9'"],
    ['HEAD:nix.yaml', "path 'nix.yaml' does not exist in 'HEAD'"],
    ['HEAD:app', "path 'app/.drs-gen/model.lock.json' does not exist in 'HEAD'"],
  ])('passes on the message of Git about %s', async (named, reason) => {
    const { code, out, err } = await diff(`diff ${named} HEAD:server`);
    expect([code, out]).toEqual([2, '']);
    expect(err).toMatch(/^error: Cannot read \S+ from git: /);
    expect(err).toContain(reason);
  });

  it('passes no option to Git', async () => {
    const { code, err } = await diff('diff -- --output=x:y HEAD:server');
    expect(code).toBe(2);
    expect(err).toContain('Cannot read --output=x:y: there is no such file or folder.');
  });
});

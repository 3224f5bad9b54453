import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { catalogOf, field, relation, table, uuidKey } from './catalogs.js';
import { attributesOf, imported, workplace, type Imported, type Workplace } from './importer.js';

const sources = 'Shop/Project/Sources';

function projectOf(catalog: string, files: Readonly<Record<string, string>> = {}): Workplace {
  const place = workplace();
  place.put(`${sources}/catalog.4DCatalog`, catalog);
  for (const [path, text] of Object.entries(files)) place.put(`${sources}/${path}`, text);
  return place;
}

async function importOf(
  catalog: string,
  files: Readonly<Record<string, string>> = {},
  ...options: readonly string[]
): Promise<Imported> {
  return imported(projectOf(catalog, files), 'Shop', ...options);
}

/** A table with a key and some fields. */
function keyed(name: string, fields: readonly string[], extra = ''): string {
  const [key, primary] = uuidKey(name);
  return table(name, [key, ...fields], `${primary}${extra}`);
}

describe('drs-gen import of a 4D project', () => {
  it('maps types, rules, comments and what is hidden', async () => {
    const result = await importOf(
      catalogOf(
        keyed('Person', [
          field('flag', 1),
          field('small', 3),
          field('whole', 4, 'unique="true"'),
          field('big', 5),
          field('real', 6),
          field('float', 7),
          field('day', 8),
          field('time', 9, 'never_null="true"'),
          field('alpha', 10, 'limiting_length="20" not_null="true" never_null="true"'),
          field('text', 10, 'not_null="true"'),
          field('token', 10, 'store_as_UUID="true" autogenerate="true"'),
          field('number', 4, 'autosequence="true"'),
          field('picture', 12),
          field('bytes', 18),
          field('object', 21, 'unique="true"'),
          field('vector', 21, '', '<field_extra class_id="4D.Vector"/>'),
          field('secret', 10, 'hide_in_REST="true"'),
          field('odd', 99),
          field('__GlobalStamp', 5),
          field(
            'note',
            10,
            '',
            '<field_extra><comment format="text">Plain &amp; short</comment></field_extra>',
          ),
          field(
            'rich',
            10,
            '',
            String.raw`<field_extra><comment format="rtf">{\rtf1\ansi{\fonttbl{\f0 Arial;}}\f0 Caf\'e9\par \{2\} \u8364 ?}</comment></field_extra>`,
          ),
          field('hint', 10, '', '<field_extra><tip>Help</tip></field_extra>'),
        ]),
        '<table name="Hidden" uuid="T-h" hide_in_REST="true"><field name="ID" uuid="h" type="4" autosequence="true"/><primary_key field_name="ID" field_uuid="h"/></table>',
        '<table name="(Table_1)" uuid="T-x"><table_extra trashed="true"/></table>',
        '<table name="__DeletedRecords" uuid="T-y"/>',
        '<index kind="regular" type="7" name="i" uuid="i"><field_ref uuid="F-alpha" name="alpha"/></index>',
        '<index kind="regular" type="1" unique_keys="true" name="two" uuid="j"><field_ref uuid="F-alpha"/><field_ref uuid="F-small"/></index>',
        '<index kind="keywords" type="1" name="k" uuid="k"><field_ref uuid="F-text"/></index>',
      ),
    );
    expect(result.model).toMatchObject({
      name: 'shop',
      protocol: { dateOnlyFormat: 'bang', accentInsensitive: true, wildcard: true },
    });
    expect(attributesOf(result, 'Person')).toEqual({
      ID: { type: 'uuid', key: true, generated: 'uuid' },
      flag: 'boolean',
      small: 'integer',
      whole: { type: 'integer', unique: true },
      big: 'integer',
      real: 'number',
      float: 'number',
      day: { type: 'date', dateOnly: true },
      time: 'duration',
      alpha: { type: 'string', indexed: true, maxLength: 20 },
      text: { type: 'string', mandatory: true },
      token: { type: 'uuid', generated: 'uuid' },
      number: { type: 'integer', generated: 'sequence' },
      picture: 'image',
      bytes: 'blob',
      object: 'object',
      vector: 'object',
      secret: { type: 'string', exposed: false },
      note: { type: 'string', description: 'Plain & short' },
      rich: { type: 'string', description: 'Café\n{2} €' },
      hint: { type: 'string', description: 'Help' },
    });
    expect(result.model.dataclasses['Person']?.['indexes']).toEqual([
      { unique: true, attributes: ['alpha', 'small'] },
    ]);
    expect(result.model.dataclasses['Hidden']).toMatchObject({ exposed: false });
    const codes = new Set(result.notes.map(({ code }) => code.slice('import/'.length)));
    expect([...codes].sort()).toEqual([
      'blank',
      'engine-table',
      'integer64',
      'keywords',
      'trashed',
      'type',
      'unique-left-out',
      'vector',
    ]);
  });

  it('takes dimensions of vectors, other keys and blank defaults from the command line', async () => {
    const catalog = catalogOf(
      keyed('A', [
        field('vector', 21, '', '<field_extra class_id="4D.Vector"/>'),
        field('code', 10, 'never_null="true" unique="true"'),
        field('text', 10, 'never_null="true"'),
        field('count', 4, 'never_null="true"'),
        field('day', 8, 'never_null="true"'),
      ]),
    );
    const options = ['--vector', 'A.vector=3', '--key', 'a=CODE', '--blank-defaults'];
    expect(attributesOf(await importOf(catalog, {}, ...options), 'A')).toEqual({
      code: { type: 'string', key: true },
      ID: { type: 'uuid', generated: 'uuid', unique: true },
      vector: { type: 'vector', dimensions: 3 },
      text: { type: 'string', default: '' },
      count: { type: 'integer', default: 0 },
      day: { type: 'date', dateOnly: true },
    });
    const wrong = await projectOf(catalog).import('Shop', '--key', 'A=nothing');
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('--key A=nothing')]);
  });

  it('maps relations by the uuids of fields, whatever those of their tables are', async () => {
    const result = await importOf(
      catalogOf(
        keyed('Company', [field('code', 10, 'unique="true"')]),
        keyed('Person', [
          field('company_id', 10, 'limiting_length="36"'),
          field('boss', 10, 'store_as_UUID="true"'),
          field('companyCode', 10),
          field('secret', 10, 'hide_in_REST="true"'),
          field('gone', 10),
        ]),
        relation(
          ['company', 'staff'],
          ['F-company_id', 'x', 'x'],
          ['K-Company', 'x', 'x'],
          'integrity="delete"',
        ),
        relation(
          ['boss', 'reports'],
          ['F-boss', '', ''],
          ['K-Person', '', ''],
          'integrity="reject"',
        ),
        relation(
          ['byCode', 'byCode_return'],
          ['unknown', 'Person', 'companyCode'],
          ['F-code', '', ''],
        ),
        relation(['hidden', 'hiddens'], ['F-secret', '', ''], ['K-Company', '', '']),
        relation(['lost', 'losts'], ['F-gone', '', ''], ['nowhere', 'Nothing', 'ID']),
      ),
    );
    expect(attributesOf(result, 'Person')).toEqual({
      ID: { type: 'uuid', key: true, generated: 'uuid' },
      company_id: 'uuid',
      boss_value: { type: 'uuid', column: 'boss' },
      companyCode: 'string',
      secret: { type: 'uuid', exposed: false },
      gone: 'string',
      company: { to: 'Company', foreignKey: 'company_id', inverse: 'staff', onDelete: 'cascade' },
      boss: { to: 'Person', foreignKey: 'boss_value', inverse: 'reports', onDelete: 'restrict' },
      byCode: {
        to: 'Company',
        foreignKey: 'companyCode',
        references: 'code',
        inverse: 'byCode_return',
        onDelete: 'none',
      },
      hidden: {
        to: 'Company',
        foreignKey: 'secret',
        inverse: 'hiddens',
        onDelete: 'none',
        exposed: false,
      },
      reports: { to: 'Person', many: true, inverse: 'boss' },
    });
    expect(result.told('by-value')).toEqual([]);
    expect(result.told('relation-lost')).toEqual([expect.stringContaining('The relation lost')]);
    expect(result.told('no-action')).toEqual([expect.stringContaining('2 relations')]);
  });

  it('leaves tables out that clients never saw, or gives them keys', async () => {
    const composite = table(
      'Pair',
      [field('a', 4), field('b', 4)],
      '<primary_key field_name="a" field_uuid="F-a"/><primary_key field_name="b" field_uuid="F-b"/>',
    );
    const catalog = catalogOf(keyed('A', []), table('Loose', [field('x', 4)]), composite);
    const result = await importOf(catalog);
    expect(Object.keys(result.model.dataclasses)).toEqual(['A']);
    expect(result.told('no-key').length).toBe(2);
    const added = await importOf(catalog, {}, '--keyless', 'add');
    expect(added.model.dataclasses).toMatchObject({
      Loose: { exposed: false },
      Pair: { exposed: false, indexes: [{ unique: true, attributes: ['a', 'b'] }] },
    });
  });

  it('keeps names apart that a model cannot hold together', async () => {
    const result = await importOf(
      catalogOf(
        keyed('Line Items', [
          ...[
            'constructor',
            '__proto__x',
            'save',
            'key',
            'Item 58',
            '1st',
            'then',
            'uri',
            'null',
          ].map((each) => field(each, 10)),
          '<field name="same" uuid="s1" type="10"/>',
          '<field name="same" uuid="s2" type="4"/>',
        ]),
      ),
    );
    expect(attributesOf(result, 'Line_Items')).toEqual({
      ID: { type: 'uuid', key: true, generated: 'uuid' },
      constructor_: { type: 'string', column: 'constructor' },
      save_: { type: 'string', column: 'save' },
      key: 'string',
      Item_58: { type: 'string', column: 'Item 58', restName: 'Item 58' },
      _1st: { type: 'string', column: '1st', restName: '1st' },
      then: 'string',
      uri_: { type: 'string', column: 'uri' },
      null: 'string',
      same: 'string',
      same_: 'integer',
    });
    expect(result.model.dataclasses['Line_Items']).toMatchObject({ table: 'Line Items' });
  });

  it('reads the same model with a byte order mark and Windows lines', async () => {
    const catalog = catalogOf(keyed('A', [field('name', 10)]));
    const plain = await importOf(catalog);
    const marked = await importOf(`\uFEFF${catalog.replaceAll('\n', '\r\n')}`);
    expect(marked.model.dataclasses).toEqual(plain.model.dataclasses);
  });

  it('imports 300 tables', async () => {
    const tables = Array.from({ length: 300 }, (_, index) =>
      keyed(`T${String(index)}`, [field(`f${String(index)}`, 10)]),
    );
    const links = Array.from({ length: 299 }, (_, index) =>
      relation(
        [`r${String(index)}`, `b${String(index)}`],
        [`F-f${String(index)}`, '', ''],
        [`K-T${String(index + 1)}`, '', ''],
      ),
    );
    const result = await importOf(catalogOf(...tables, ...links));
    expect(Object.keys(result.model.dataclasses).length).toBe(300);
  });
});

describe('classes of a project', () => {
  const catalog = catalogOf(
    keyed('Company', [field('name', 10)]),
    keyed(
      'Person',
      [field('company_id', 10), field('first', 10)],
      '<table_extra trigger_insert="true" trigger_delete="true"/>',
    ),
    relation(['company', 'staff'], ['F-company_id', '', ''], ['K-Company', '', ''], ''),
  );
  const files = {
    'Classes/Person.4dm': [
      'Class extends DataClass',
      '',
      '// exposed Function commented()',
      'exposed Function byName($name : Text; $limit : Integer) -> $found : cs.PersonSelection',
      '\t$found:=This.query("name = :1"; $name)',
      'exposed onHTTPGet Function page : 4D:C1709.OutgoingMessage',
      'local exposed Function all()',
      'Function helper($x : Text)',
      'Function event restrict() : cs.PersonSelection',
    ].join('\n'),
    'Classes/PersonEntity.4dm': [
      'Class extends Entity',
      'exposed Function get fullName : Text',
      '\treturn This.first /* Function not() */ + "Function neither()"',
      'Function query fullName($event : Object) : Text',
      'exposed Function set fullName($value : Text)',
      'Function get photo : Picture',
      'exposed Alias companyName company.name',
      'exposed Alias staffOf company.staff',
      'exposed Alias count company.staff.company',
      'exposed Alias names company.staff.first',
      'exposed Alias only company',
      'exposed Function hire($company : cs:C1710.CompanyEntity; ... : Text) : Boolean',
      'Function event saving() : Object',
      'Function event touched name()',
      'exposed Function old',
      '\tC_TEXT:C284($1;$2)',
      '\tvar $0 : Real',
    ].join('\r\n'),
    'Classes/PersonSelection.4dm':
      'Class extends EntitySelection\nexposed function Total()->$sum : Real\n',
    'Classes/DataStore.4dm':
      'Class extends DataStoreImplementation\nexposed Function authentify($user : Text)\n\tSession.setPrivileges("admin")\n',
    'Classes/Cart.4dm':
      'shared singleton Class constructor\nexposed Function add($item : Object) : Integer\n',
    'Classes/Ghost.4dm': 'Class extends DataClass\nexposed Function f()\n',
    'Triggers/table_1.4dm': '// counts */ persons\nvar $a : Text\n',
  };

  it('become functions, computed attributes, aliases, events and singletons', async () => {
    const result = await importOf(catalog, files);
    const person = result.model.dataclasses['Person'];
    expect(person?.['functions']).toEqual({
      dataclass: {
        byName: {
          exposed: true,
          params: {
            name: { type: 'string', optional: true },
            limit: { type: 'integer', optional: true },
          },
          returns: 'Person.selection',
        },
        page: { exposed: true, onHTTPGet: true, returns: 'message' },
      },
      selection: { Total: { exposed: true, returns: 'number' } },
      entity: {
        hire: {
          exposed: true,
          params: { company: { type: 'Company', optional: true } },
          returns: 'boolean',
        },
        old: {
          exposed: true,
          params: {
            p1: { type: 'string', optional: true },
            p2: { type: 'string', optional: true },
          },
          returns: 'number',
        },
      },
    });
    expect(person).toMatchObject({
      events: ['saving', 'dropping'],
      restrict: { writes: true },
    });
    expect(attributesOf(result, 'Person')).toMatchObject({
      fullName: { computed: 'string', accessors: ['get', 'set', 'query'] },
      companyName: { alias: 'company.name' },
      staffOf: { alias: 'company.staff' },
      count_: { alias: 'company.staff.company' },
      only: { alias: 'company' },
    });
    expect(result.model['datastore']).toEqual({
      functions: {
        authentify: { exposed: true, params: { user: { type: 'string', optional: true } } },
      },
    });
    expect(result.model['singletons']).toEqual({
      Cart: {
        scope: 'shared',
        functions: {
          add: {
            exposed: true,
            params: { item: { type: 'object', optional: true } },
            returns: 'integer',
          },
        },
      },
    });
    expect(result.told('accessor-lost')).toEqual([expect.stringContaining('Person.photo')]);
    expect(result.told('alias-lost')).toEqual([expect.stringContaining('company.staff.first')]);
    expect(result.told('event-lost')).toEqual([expect.stringContaining('touched name')]);
    expect(result.told('class-orphan')).toEqual([expect.stringContaining('Ghost')]);
    expect(result.told('function-lost')).toEqual([expect.stringContaining('The function all')]);
    expect(result.told('trigger').length).toBe(1);
  });

  it('stand as comments above the methods that take their place', async () => {
    const place = projectOf(catalog, files);
    await imported(place, 'Shop');
    expect(place.files().filter((path) => path.startsWith('classes/'))).toEqual([
      'classes/Cart.ts',
      'classes/DataStore.ts',
      'classes/Person.ts',
      'classes/PersonEntity.ts',
      'classes/PersonSelection.ts',
    ]);
    const entity = place.text('classes/PersonEntity.ts');
    expect(entity).toContain('   * exposed Function get fullName : Text\n');
    expect(entity).toMatch(/ \* counts \* \/ persons|\/\/ counts \* \/ persons/);
    // What no method takes the place of stands behind the class.
    expect(entity.slice(entity.lastIndexOf('/*'))).toContain('Function get photo : Picture');
    expect(place.text('classes/Person.ts')).toMatch(/\n \* Function helper\(\$x : Text\)\n/);
  });

  it('are read from Qodly files, too', async () => {
    const result = await importOf(catalog, {
      'Classes/Company.4qs':
        'extends DataClass\n\nexposed function find(text : string, deep : boolean) -> found : cs.CompanySelection\nconstructor\n',
      'Classes/CompanyEntity.4qs':
        'extends Entity\nexposed function get label() -> label : string\n',
    });
    expect(result.model.dataclasses['Company']).toMatchObject({
      functions: {
        dataclass: { find: { params: { text: {}, deep: {} }, returns: 'Company.selection' } },
      },
      attributes: { label: { computed: 'string' } },
    });
  });
});

describe('roles of a project', () => {
  const catalog = catalogOf(keyed('Person Data', [field('salary', 6)]));
  const rolesOf = (roles: unknown): Record<string, string> => ({
    'roles.json': JSON.stringify(roles),
  });

  it('are cleaned, and open nothing that was closed', async () => {
    const place = projectOf(
      catalog,
      rolesOf({
        forceLogin: true,
        privileges: [
          { privilege: 'read', includes: ['read2'], id: 'x' },
          { privilege: 'read2', includes: ['read', 'nothing'] },
          { privilege: 'none', includes: [] },
        ],
        roles: [{ role: 'Boss', privileges: ['READ', 'unknown'] }],
        permissions: {
          allowed: [
            { applyTo: 'ds', type: 'datastore', promote: ['none'], create: ['none'] },
            { applyTo: 'Person Data', type: 'dataclass', read: ['unknown'], update: [] },
            { applyTo: 'Person Data', type: 'dataclass', read: ['read'], drop: ['read'] },
            { applyTo: 'Person Data.salary', type: 'attribute', read: ['read'] },
            { applyTo: 'Gone', type: 'dataclass', read: ['read'] },
          ],
        },
      }),
    );
    const result = await imported(place, 'Shop');
    expect(result.model['roles']).toBe('roles.json');
    expect(JSON.parse(place.text('roles.json'))).toEqual({
      forceLogin: true,
      restrictedByDefault: false,
      privileges: [
        { privilege: 'read', includes: ['read2'] },
        { privilege: 'read2', includes: [] },
      ],
      roles: [{ role: 'Boss', privileges: ['read'] }],
      permissions: {
        allowed: [
          { applyTo: 'ds', type: 'datastore', create: ['none'] },
          {
            applyTo: 'Person_Data',
            type: 'dataclass',
            read: ['none', 'read'],
            drop: ['read'],
          },
          { applyTo: 'Person_Data.salary', type: 'attribute', read: ['read'] },
        ],
      },
    });
    expect(result.told('permission-lost')).toEqual([expect.stringContaining('Gone')]);
    expect(result.told('privilege-unknown').length).toBe(3);
    expect(result.told('permission-twice').length).toBe(2);
  });

  it('are an error when they are malformed, with line and column', async () => {
    const place = projectOf(catalog, { 'roles.json': '{\n  "privileges": [] },,\n}' });
    const { code, err } = await place.import('Shop');
    expect([code, err]).toEqual([1, expect.stringMatching(/roles-malformed.*roles\.json:2:\d+/)]);
    expect(place.has('model.yaml')).toBe(false);
    expect((await imported(place, 'Shop', '--without-roles')).model['roles']).toBeUndefined();
  });

  it.each([
    { privileges: {} },
    { privileges: [{ name: 'x' }] },
    { permissions: { allowed: [{ applyTo: 'ds', type: 'datastore', read: 'all' }] } },
    [],
  ])('are an error when they have another shape: %j', async (roles) => {
    const { code, err } = await projectOf(catalog, rolesOf(roles)).import('Shop');
    expect([code, err]).toEqual([1, expect.stringContaining('import/roles-malformed')]);
  });
});

describe('a hostile project', () => {
  const bomb = `<?xml version="1.0"?><!DOCTYPE base [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><base name="&b;"><table name="&b;"/></base>`;

  it.each([
    ['an entity bomb', bomb],
    [
      'an entity of a file',
      '<!DOCTYPE base [<!ENTITY f SYSTEM "file:///etc/passwd">]><base name="&f;"/>',
    ],
    ['deep elements', `<base>${'<a>'.repeat(5000)}${'</a>'.repeat(5000)}</base>`],
    ['unfinished XML', '<base><table name="A">'],
    ['text that is no XML', 'hello'],
    ['nothing', ''],
  ])('ends in an error: %s', async (_name, catalog) => {
    const place = projectOf(catalog);
    const { code, err } = await place.import('Shop');
    expect([code, err]).toEqual([1, expect.stringContaining('import/unreadable')]);
    expect(err).not.toContain('root:');
    expect(place.has('model.yaml')).toBe(false);
  });

  it('ends in an error when it is not UTF-8', async () => {
    const place = projectOf('');
    place.put(`${sources}/catalog.4DCatalog`, Buffer.from([0xff, 0xfe, 0x3c, 0x00]));
    const { code, err } = await place.import('Shop');
    expect([code, err]).toEqual([1, expect.stringContaining('not UTF-8')]);
  });

  it('does not follow links', async () => {
    const outside = workplace();
    outside.put('catalog.4DCatalog', catalogOf(keyed('Secret', [])));
    outside.put('Secret.4dm', 'Class extends DataClass\nexposed Function f()\n');
    const place = workplace();
    place.put('Shop/readme.txt', '');
    symlinkSync(
      join(outside.folder, 'catalog.4DCatalog'),
      join(place.folder, 'Shop/catalog.4DCatalog'),
    );
    symlinkSync(outside.folder, join(place.folder, 'Shop/Project'));
    const { code, err } = await place.import('Shop');
    expect([code, err]).toEqual([1, expect.stringContaining('import/empty')]);
  });

  it('keeps texts of the source out of the terminal and out of the structure of the report', async () => {
    const result = projectOf(
      catalogOf(
        keyed('A&#10;# b | \u202e[31m', [
          field('x&#9;`y', 10, '', '<field_extra><tip>*/ ${1} \u202e</tip></field_extra>'),
        ]),
      ),
    );
    const { code, err } = await result.import('Shop');
    expect(code).toBe(0);
    expect(err).not.toMatch(/\u001b|\u202e/);
    expect(result.text('import-report.md')).not.toMatch(/\u001b|\u202e|^# b/m);
    expect(result.text('model.yaml')).not.toMatch(/\u001b|\u202e/);
  });

  it('is told apart from several projects, components and binary structures', async () => {
    const two = workplace();
    const catalog = catalogOf(keyed('A', []));
    two.put('a/Project/Sources/catalog.4DCatalog', catalog);
    two.put('b/Project/Sources/catalog.4DCatalog', catalog);
    const several = await two.import('.');
    expect([several.code, several.err]).toEqual([2, expect.stringContaining('b/Project')]);
    const named = await two.import('a/Project/Sources/catalog.4DCatalog', '-o', 'out');
    expect(named.code).toBe(0);
    const one = workplace();
    one.put('Project/Sources/catalog.4DCatalog', catalog);
    one.put('Components/x.4dbase/Project/Sources/catalog.4DCatalog', catalog);
    expect((await one.import('.', '-o', 'out')).code).toBe(0);
    const old = workplace();
    old.put('Old.4DB', 'binary');
    const binary = await old.import('.');
    expect([binary.code, binary.err]).toEqual([1, expect.stringContaining('EXPORT STRUCTURE')]);
    const empty = await projectOf(catalogOf()).import('Shop');
    expect([empty.code, empty.err]).toEqual([1, expect.stringContaining('import/empty')]);
  });
});

import { describe, expect, it } from 'vitest';
import { attributesOf, imported, workplace, type Workplace } from './importer.js';

const model = {
  dataClasses: [
    {
      className: 'Company',
      collectionName: 'Companies',
      matchTable: 'T_COMPANY,old',
      key: [{ name: 'ID' }],
      attributes: [
        { name: 'ID', kind: 'storage', type: 'long', autosequence: true, scope: 'public' },
        {
          name: 'name',
          kind: 'storage',
          type: 'string',
          not_null: 'true',
          maxLength: '40',
          indexKind: 'btree',
          defaultValue: 'x',
        },
        { name: 'size', kind: 'storage', type: 'long64', minValue: 1, maxValue: '500' },
        {
          name: 'state',
          kind: 'storage',
          type: 'string',
          enumeration: {
            item: [
              { name: 1, value: 'open' },
              { name: 2, value: 'shut' },
            ],
          },
        },
        { name: 'code', kind: 'storage', type: 'string', pattern: '[a-', matchColumn: 'COL_CODE' },
        { name: 'born', kind: 'storage', type: 'date', simpleDate: true, scope: 'publicOnServer' },
        { name: 'odd', kind: 'storage', type: 'strange' },
        {
          name: 'staff',
          kind: 'relatedEntities',
          type: 'WhoKnows',
          path: 'employer',
          reversePath: true,
        },
        { name: 'deep', kind: 'relatedEntities', type: 'People', path: 'staff.friends' },
      ],
      methods: [
        { name: 'find', applyTo: 'dataClass', scope: 'public', from: 'x', allowedOnHTTPGET: true },
        { name: 'hidden', applyTo: 'dataClass' },
        { name: 'total', applyTo: 'entityCollection', scope: 'public' },
      ],
      events: [
        { kind: 'onSave' },
        { kind: 'validateremove' },
        { kind: 'init' },
        { kind: 'clientrefresh' },
        { kind: 'onLoad' },
        { kind: 'onRestrictingQuery' },
      ],
    },
    {
      className: 'Person',
      key: [{ name: 'ID' }],
      attributes: [
        { name: 'ID', kind: 'storage', type: 'uuid', autogenerate: true },
        { name: 'employer', kind: 'relatedEntity', type: 'Company', path: 'Company' },
        { name: 'boss', kind: 'relatedEntity', type: 'Person', path: 'Person', scope: 'private' },
        { name: 'boss_id', kind: 'storage', type: 'string' },
        { name: 'lost', kind: 'relatedEntity', type: 'Nothing', path: 'Nothing' },
        { name: 'companyName', kind: 'alias', path: 'employer.name' },
        { name: 'colleagues', kind: 'relatedEntities', type: 'People', path: 'employer.staff' },
        { name: 'bossOf', kind: 'relatedEntity', type: 'Person', path: 'boss.boss' },
        {
          name: 'full',
          kind: 'calculated',
          type: 'string',
          onGet: [{ from: 'x' }],
          onQuery: [{ from: 'y' }],
        },
      ],
    },
    {
      className: 'Boss',
      extends: 'Person',
      key: [{ name: 'ID' }],
      attributes: [
        { name: 'boss', kind: 'removed' },
        { name: 'boss_id', kind: 'altered', readOnly: true },
        { name: 'bonus', kind: 'storage', type: 'number' },
      ],
    },
  ],
};

function solutionOf(text: string, files: Readonly<Record<string, string>> = {}): Workplace {
  const place = workplace();
  place.put('My Solution/backend/Model.waModel', text);
  for (const [path, each] of Object.entries(files)) place.put(`My Solution/${path}`, each);
  return place;
}

describe('drs-gen import of a Wakanda solution', () => {
  it('maps attributes, relations, functions and events of a model in JSON', async () => {
    const result = await imported(solutionOf(`\uFEFF${JSON.stringify(model)}`), 'My Solution');
    expect(result.model).toMatchObject({
      name: 'my-solution',
      protocol: { compatibility: 'wakanda' },
    });
    expect(result.model.dataclasses['Company']).toEqual({
      table: 'T_COMPANY',
      collectionName: 'Companies',
      attributes: {
        ID: { type: 'integer', key: true, generated: 'sequence' },
        name: { type: 'string', indexed: true, mandatory: true, default: 'x', maxLength: 40 },
        size: { type: 'integer', min: 1, max: 500 },
        state: { type: 'string', enum: ['open', 'shut'] },
        code: { type: 'string', column: 'COL_CODE' },
        born: { type: 'date', dateOnly: true, exposed: false },
        staff: { to: 'Person', many: true, inverse: 'employer' },
      },
      functions: {
        dataclass: { find: { exposed: true, onHTTPGet: true } },
        selection: { total: { exposed: true } },
      },
      events: ['init', 'saving', 'validateDrop', 'clientRefresh'],
      restrict: { writes: true },
    });
    expect(attributesOf(result, 'Person')).toEqual({
      ID: { type: 'uuid', key: true, generated: 'uuid' },
      boss_id: 'string',
      boss_id_: { type: 'uuid', exposed: false },
      employer: { to: 'Company', inverse: 'staff' },
      boss: { to: 'Person', foreignKey: 'boss_id_', exposed: false },
      full: { computed: 'string', accessors: ['get', 'query'] },
      companyName: { alias: 'employer.name' },
      colleagues: { alias: 'employer.staff' },
      bossOf: { alias: 'boss.boss' },
    });
    expect(attributesOf(result, 'Boss')).toMatchObject({
      boss_id: { type: 'string', readOnly: true },
      bonus: 'number',
      employer: { to: 'Company' },
    });
    expect(result.told('relation-lost').length).toBe(2);
    expect(result.told('alias-lost')).toEqual([
      expect.stringContaining('staff.friends'),
      expect.stringContaining('Boss.bossOf'),
    ]);
    expect(result.told('event-lost')).toEqual([expect.stringContaining('onLoad')]);
    expect(result.told('extends').length).toBe(1);
    expect(result.told('rule-lost')).toEqual([expect.stringContaining('[a-')]);
  });

  it('takes some dataclasses with --tables, and refuses options that have no effect', async () => {
    const place = solutionOf(JSON.stringify(model));
    const some = await imported(place, 'My Solution', '--from', 'wakanda', '--tables', 'comp*');
    expect(Object.keys(some.model.dataclasses)).toEqual(['Company']);
    const none = await workplace().import(place.folder, '--tables', 'x*');
    expect([none.code, none.err]).toEqual([1, expect.stringContaining('--tables')]);
    for (const option of [
      ['--schema', 'a'],
      ['--names', 'camel'],
      ['--image', 'Company.name'],
      ['--blank-defaults'],
      ['--authentify'],
      ['--cookie', 'a=b'],
    ]) {
      const { code, err } = await place.import('My Solution', '-o', 'x', ...option);
      expect([code, err]).toEqual([
        2,
        expect.stringContaining(option.join(' ').split(' ')[0] ?? ''),
      ]);
    }
  });

  it('reads the same model in XML', async () => {
    const xml = `<?xml version="1.0"?><EntityModelCatalog>
      <dataClasses className="Company" collectionName="Companies">
        <attributes name="ID" kind="storage" type="long" autosequence="true"/>
        <attributes name="name" kind="storage" type="string" limiting_length="40"/>
        <attributes name="staff" kind="relatedEntities" type="People" path="employer" reversePath="true"/>
        <methods name="find" applyTo="dataClass" scope="public"/>
        <events kind="save" from="x"/>
        <key name="ID"/>
      </dataClasses>
      <dataClasses className="Person" collectionName="People">
        <attributes name="ID" kind="storage" type="uuid" autogenerate="true" primKey="true"/>
        <attributes name="employer" kind="relatedEntity" type="Company" path="Company"/>
      </dataClasses>
    </EntityModelCatalog>`;
    const result = await imported(solutionOf(xml), 'My Solution');
    expect(result.model.dataclasses).toEqual({
      Company: {
        collectionName: 'Companies',
        attributes: {
          ID: { type: 'integer', key: true, generated: 'sequence' },
          name: { type: 'string', maxLength: 40 },
          staff: { to: 'Person', many: true, inverse: 'employer' },
        },
        functions: { dataclass: { find: { exposed: true } } },
        events: ['saving'],
      },
      Person: {
        collectionName: 'People',
        attributes: {
          ID: { type: 'uuid', key: true, generated: 'uuid' },
          employer: { to: 'Company', inverse: 'staff' },
        },
      },
    });
  });

  it('makes privileges of groups, and lists users without their passwords', async () => {
    const place = solutionOf(JSON.stringify(model), {
      'x.waDirectory': `<directory>
        <group name="Staff" ID="1"/><group name="Boss" ID="2"/><group name="Debugger" ID="3"/>
        <group name="All" ID="4"><include groupID="1"/></group>
        <user name="ann" ID="5" password="0123456789abcdef0123456789abcdef"/></directory>`,
      'x.waPerm': `<permissions>
        <allow type="dataClass" resource="Model.Company" action="read" groupName="Staff" groupID="1"/>
        <allow type="method" resource="Model.Company.find" action="execute" groupName="Boss"/>
        <allow type="dataClass" resource="Model.Company" action="remove" groupID="2"/>
        <allow type="module" resource="m" action="executeFromClient" groupID="2"/></permissions>`,
    });
    await imported(place, 'My Solution');
    expect(JSON.parse(place.text('roles.json'))).toMatchObject({
      restrictedByDefault: false,
      privileges: [
        { privilege: 'Staff', includes: ['All'] },
        { privilege: 'Boss', includes: [] },
        { privilege: 'All', includes: [] },
      ],
      permissions: {
        allowed: [
          { applyTo: 'Company', type: 'dataclass', read: ['Staff'], drop: ['Boss'] },
          { applyTo: 'Company.find', type: 'method', execute: ['Boss'] },
        ],
      },
    });
    const report = place.text('import-report.md');
    expect(report).toContain('`ann`');
    expect(report).not.toContain('0123456789abcdef');
  });

  it.each([
    ['a model in JavaScript', '{}', 'import/empty'],
    ['malformed JSON', '{ "dataClasses": [ }', 'import/unreadable'],
    ['JSON of another shape', '{ "dataClasses": 3 }', 'import/empty'],
    ['a list', '[1]', 'import/empty'],
    ['deep JSON', `{"dataClasses":${'['.repeat(200_000)}`, 'import/unreadable'],
    ['an entity', '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', 'import/unreadable'],
  ])('ends in an error for %s', async (_name, text, said) => {
    const { code, err } = await solutionOf(text).import('My Solution');
    expect([code, err]).toEqual([1, expect.stringContaining(said)]);
  });

  it('gets over odd names and circles of extends', async () => {
    const odd = {
      dataClasses: [
        {
          className: '__proto__',
          key: [{ name: 'ID' }],
          attributes: [
            { name: 'ID', type: 'uuid' },
            { name: 'constructor', type: 'toString' },
            { name: '', type: 'string' },
            3,
            null,
          ],
        },
        {
          className: 'A',
          extends: 'B',
          key: 'ID',
          attributes: [{ name: 'ID', type: 'long', identifying: true }],
        },
        { className: 'B', extends: 'A', attributes: [{ name: 'hasOwnProperty', type: 'string' }] },
        { className: 'a', attributes: { name: 'ID', type: 'long', primKey: true } },
      ],
    };
    const result = await imported(solutionOf(JSON.stringify(odd)), 'My Solution');
    expect(Object.keys(result.model.dataclasses)).toEqual(['_proto__', 'A', 'B', 'a_']);
  });
});

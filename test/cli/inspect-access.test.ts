import { expect, it } from 'vitest';
import { checkModel } from '../../generator/check/check-model.js';
import { plain } from '../../generator/cli/colors.js';
import { accessJson, describeAccess } from '../../generator/cli/commands/inspect.js';
import type { Model } from '../../generator/model/model.js';
import { importFrom } from '../support/compiled-server.js';
import { modelFile } from '../support/model-file.js';
import { writeServer } from '../support/server.js';

const dataclasses = `
drs: 1
name: staff
dataclasses:
  Company:
    attributes:
      ID: { type: integer, key: true }
      名前: string
      staff: { to: Employee, many: true, inverse: employer }
    functions: { entity: { hire: { exposed: true }, secret: {} } }
  Employee:
    attributes:
      ID: { type: integer, key: true }
      salary: number
      double: { computed: number, expression: "salary * 2" }
      employer: { to: Company, inverse: staff }
  Vault:
    attributes: { ID: { type: integer, key: true } }
`;

const roles = `
roles:
  restrictedByDefault: false
  privileges: [{ privilege: viewStaff }, { privilege: manageStaff, includes: [viewStaff] }]
  roles: [{ role: HR, privileges: [manageStaff] }]
  permissions:
    allowed:
      - { applyTo: Employee, type: dataclass, read: [viewStaff], create: [manageStaff], update: [manageStaff] }
      - { applyTo: Employee.salary, type: attribute, read: [manageStaff] }
      - { applyTo: Company.hire, type: method, execute: [manageStaff] }
      - { applyTo: Vault, type: dataclass, read: [none], create: [none] }
`;

function modelWith(text: string): Model {
  const input = { file: 'model.yaml', text, readBeside: () => undefined };
  const { value, problems } = checkModel(input);
  if (value === undefined) throw new Error(JSON.stringify(problems));
  return value;
}

it('drs-gen inspect --access shows who may do what', () => {
  expect(describeAccess(modelWith(dataclasses + roles), plain)).toBe(`\
                guest  HR    viewStaff  manageStaff
Company         crud   crud  crud       crud
  ID            cr--   cr--  cr--       cr--
  名前          crud   crud  crud       crud
  staff         ----   -r--  -r--       -r--
Company.hire()  -      x     -          x
Employee        ----   crud  -r-d       crud
  ID            ----   cr--  -r--       cr--
  salary        ----   crud  ----       crud
  double        ----   -r--  -r--       -r--
  employer      ----   crud  -r--       crud

c create, r read, u update, d drop, x execute; each role and privilege by itself
d of an attribute sets its value to null; d of a dataclass deletes entities that have a value for every attribute
`);
});

it('drs-gen inspect --access says that a model has no roles', () => {
  const open = modelWith(dataclasses);
  expect(describeAccess(open, plain)).toBe(
    'The model has no roles: everybody may do everything.\n',
  );
  expect(accessJson(open)).toEqual({ open: true, access: [] });
});

it('drs-gen inspect --access --json prints the matrix as JSON', () => {
  const { access } = accessJson(modelWith(dataclasses + roles)) as { access: object[] };
  expect(access).toContainEqual({
    role: 'HR',
    resource: 'Employee.salary',
    kind: 'attribute',
    allowed: ['create', 'read', 'update', 'drop'],
  });
  expect(access).toContainEqual({
    guest: 'guest',
    resource: 'Company.hire',
    kind: 'function',
    allowed: [],
  });
});

it('drs-gen inspect --access shows guests who must log in and users without privileges', () => {
  const model = modelWith(`${dataclasses}
datastore: { functions: { authentify: { exposed: true }, other: { exposed: true } } }
${roles.replace('roles:\n', 'roles:\n  forceLogin: true\n')}`);
  const lines = describeAccess(model, plain).split('\n');
  expect(lines[0]).toBe('                 guest  user  HR    viewStaff  manageStaff');
  expect(lines).toContain('Company          ----   crud  crud  crud       crud');
  expect(lines).toContain('ds.authentify()  x      x     x     x          x');
  expect(lines).toContain('ds.other()       -      x     x     x          x');
  const { access } = accessJson(model) as { access: object[] };
  expect(access).toContainEqual({
    user: 'user',
    resource: 'ds.other',
    kind: 'function',
    allowed: ['execute'],
  });
});

it('drs-gen inspect --access has one column for guests, with the privileges of everyone', () => {
  const declared = roles.replace(
    '[{ privilege: viewStaff }',
    '[{ privilege: Guest, includes: [viewStaff] }, { privilege: none }, { privilege: viewStaff }',
  );
  const input = { file: 'model.yaml', text: dataclasses + declared, readBeside: () => undefined };
  const { value: model } = checkModel(input);
  if (model === undefined) throw new Error('no model');
  const lines = describeAccess(model, plain).split('\n');
  expect(lines[0]).toBe('                guest  HR    viewStaff  manageStaff');
  expect(lines).toContain('Employee        -r-d   crud  -r-d       crud');
});

it('drs-gen inspect --access shows which attributes without a plain column a client can write', () => {
  const model = modelWith(`
drs: 1
name: kinds
dataclasses:
  Item:
    attributes:
      ID: { type: uuid, key: true, generated: uuid }
      title: { type: string, mandatory: true }
      badge: { type: string, readOnly: true }
      label: { computed: string }
      price: { computed: number, accessors: [get, set] }
      pin: { computed: string, accessors: [get, set] }
      double: { computed: number, expression: "length(title) * 2" }
      group: { to: Group, foreignKey: groupID }
      groupID: { type: integer, readOnly: true }
      other: { to: Group, mandatory: true, inverse: items }
      otherName: { alias: other.name }
      secret: { type: string, exposed: false }
    functions: { dataclass: { find: { exposed: true }, hidden: {} } }
  Group:
    attributes:
      ID: { type: integer, key: true }
      name: string
      items: { to: Item, many: true, inverse: other }
roles:
  restrictedByDefault: false
  permissions:
    allowed:
      - { applyTo: Item.pin, type: attribute, read: [none] }
`);
  expect(describeAccess(model, plain).split('\n').slice(0, -4)).toEqual([
    '             guest',
    'Item         crud',
    '  ID         cr--',
    '  title      cru-',
    '  badge      -r--',
    '  label      -r--',
    '  price      crud',
    '  pin        c---',
    '  double     -r--',
    '  group      -r--',
    '  groupID    -r--',
    '  other      cru-',
    '  otherName  -r--',
    'Item.find()  x',
    'Group        crud',
    '  ID         cr--',
    '  name       crud',
    '  items      -r--',
  ]);
});

/** The table in an emitted access test. */
interface Table {
  readonly holders: readonly { readonly name: string }[];
  readonly access: {
    readonly dataclasses: Readonly<
      Record<
        string,
        {
          readonly may: string;
          readonly attributes: Readonly<Record<string, string>>;
          readonly functions?: Readonly<Record<string, Readonly<Record<string, string>>>>;
        }
      >
    >;
    readonly datastore: Readonly<Record<string, string>>;
    readonly singletons: Readonly<Record<string, Readonly<Record<string, string>>>>;
  };
}

/** Cells such as `cru-` by resource and holder. */
function cellsOfTest({ holders, access }: Table): ReadonlyMap<string, string> {
  const rows: [resource: string, row: string][] = [];
  for (const [name, { may, attributes, functions = {} }] of Object.entries(access.dataclasses)) {
    rows.push([name, may]);
    for (const of of [attributes, ...Object.values(functions)]) {
      for (const [member, row] of Object.entries(of)) rows.push([`${name}.${member}`, row]);
    }
  }
  for (const [owner, of] of Object.entries({ ds: access.datastore, ...access.singletons })) {
    for (const [member, row] of Object.entries(of)) rows.push([`${owner}.${member}`, row]);
  }
  const letters = (cell: string): string => cell.replace(/[l-]/g, '');
  return new Map(
    rows.flatMap(([resource, row]) =>
      row
        .split(' ')
        .map((cell, at) => [`${holders[at]?.name ?? ''} ${resource}`, letters(cell)] as const),
    ),
  );
}

it.each(['guarded', 'access'])(
  'drs-gen inspect --access shows for the model %s what the access test of its server expects',
  async (name) => {
    const model = modelFile(name);
    const folder = writeServer(model);
    const expected = cellsOfTest((await importFrom(folder, 'test/access/table')) as Table);
    const { access } = accessJson(model) as {
      readonly access: readonly {
        readonly guest?: string;
        readonly role?: string;
        readonly privilege?: string;
        readonly resource: string;
        readonly allowed: readonly string[];
      }[];
    };
    const shown = access.flatMap(
      ({ guest, role, privilege, resource, allowed }): [string, string][] => {
        const key = `${guest ?? role ?? privilege ?? ''} ${resource}`;
        // The test omits privileges that grant the same as an earlier holder.
        if (!expected.has(key)) return [];
        return [[key, allowed.map((each) => each.charAt(each === 'execute' ? 1 : 0)).join('')]];
      },
    );
    const found = new Map(shown);
    // Without forceLogin, users without grants are guests; hidden parts are not shown.
    const wanted = [...expected].filter(
      ([key, cell]) => !key.startsWith('user ') && (found.has(key) || cell !== ''),
    );
    expect(found).toEqual(new Map(wanted));
    expect(shown.length).toBeGreaterThan(20);
  },
);

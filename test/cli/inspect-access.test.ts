import { expect, it } from 'vitest';
import { checkModel } from '../../generator/check/check-model.js';
import { plain } from '../../generator/cli/colors.js';
import { accessJson, describeAccess } from '../../generator/cli/describe-access.js';
import type { Model } from '../../generator/model/model.js';

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

it('shows who may do what', () => {
  expect(describeAccess(modelWith(dataclasses + roles), plain)).toBe(`\
                guest  HR    viewStaff  manageStaff
Company         crud   crud  crud       crud
  ID            crud   crud  crud       crud
  名前          crud   crud  crud       crud
  staff         ----   -r--  -r--       -r--
Company.hire()  -      x     -          x
Employee        ----   crud  -r-d       crud
  ID            ----   crud  -r-d       crud
  salary        ----   crud  ----       crud
  double        ----   -r--  -r--       -r--
  employer      ----   crud  -r-d       crud

c create, r read, u update, d drop, x execute; each role and privilege by itself
`);
});

it('tells a model without roles', () => {
  const open = modelWith(dataclasses);
  expect(describeAccess(open, plain)).toBe(
    'The model has no roles: everybody may do everything.\n',
  );
  expect(accessJson(open)).toEqual({ open: true, access: [] });
});

it('gives the matrix as JSON', () => {
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

it('shows what guests may do who have to log in, beside users who are granted nothing', () => {
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

it('has one column for guests, with all that everyone has', () => {
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

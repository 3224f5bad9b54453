import { expect, it } from 'vitest';
import { checkModel } from '../../generator/check/check-model.js';
import type { Model } from '../../generator/model/model.js';
import { roleNames, roleView, type RoleView } from '../../generator/model/role-view.js';

const dataclasses = `
drs: 1
name: staff
dataclasses:
  Company:
    attributes:
      ID: { type: integer, key: true }
      name: string
      secret: { type: string, exposed: false }
      staff: { to: Employee, many: true, inverse: employer }
    functions:
      dataclass: { count: { exposed: true } }
      entity: { hire: { exposed: true }, hidden: {} }
  Employee:
    attributes:
      ID: { type: integer, key: true }
      salary: number
      double: { computed: number, expression: "salary * 2" }
      employer: { to: Company, inverse: staff }
    functions:
      dataclass: { total: { exposed: true } }
      entity: { raise: { exposed: true } }
  Inbox:
    attributes: { ID: { type: integer, key: true, generated: sequence }, text: string }
singletons:
  Clock: { functions: { now: { exposed: true } } }
`;

const roles = `
roles:
  restrictedByDefault: false
  privileges: [{ privilege: viewStaff }, { privilege: manageStaff, includes: [viewStaff] }]
  roles: [{ role: HR, privileges: [manageStaff] }, { role: Viewer, privileges: [viewStaff] }]
  permissions:
    allowed:
      - { applyTo: Employee, type: dataclass, read: [viewStaff], create: [manageStaff], update: [manageStaff], drop: [none] }
      - { applyTo: Employee.salary, type: attribute, read: [manageStaff] }
      - { applyTo: Company.hire, type: method, execute: [manageStaff] }
      - { applyTo: Employee.raise, type: method, execute: [guest] }
      - { applyTo: Employee.total, type: method, execute: [guest] }
      - { applyTo: Clock, type: singleton, execute: [manageStaff] }
      - { applyTo: Inbox, type: dataclass, read: [manageStaff] }
`;

function modelWith(text: string): Model {
  const input = { file: 'model.yaml', text, readBeside: () => undefined };
  const { value, problems } = checkModel(input);
  if (value === undefined) throw new Error(JSON.stringify(problems));
  return value;
}

/** One line for each dataclass, attribute and function, with the first letters of the actions. */
function lines({ dataclasses: seen, functions, singletons }: RoleView): readonly string[] {
  const letters = (actions: ReadonlySet<string>): string =>
    [...actions].map(([letter = '']) => letter).join('');
  return [
    ...seen.flatMap((each) => [
      `${each.dataclass.name} ${letters(each.actions)}`,
      ...each.attributes.map(
        ({ attribute, actions }) => `${each.dataclass.name}.${attribute.name} ${letters(actions)}`,
      ),
      ...Object.values(each.functions)
        .flat()
        .map(({ name }) => `${each.dataclass.name}.${name}()`),
    ]),
    ...functions.map(({ name }) => `ds.${name}()`),
    ...singletons.flatMap((each) => each.functions.map(({ name }) => `${each.name}.${name}()`)),
  ];
}

it('A view without a role holds everything that the model exposes', () => {
  const view = lines(roleView(modelWith(dataclasses)));
  expect(view).toContain('Company crud');
  expect(view).toContain('Company.ID cr');
  expect(view).toContain('Company.staff cru');
  expect(view).toContain('Company.hire()');
  expect(view).toContain('Clock.now()');
  expect(view.join()).not.toMatch(/secret|hidden/);
});

it('A view of a role holds what the role may use', () => {
  const model = modelWith(dataclasses + roles);
  expect(roleNames(model)).toEqual(['guest', 'HR', 'Viewer']);
  expect(lines(roleView(model, 'Viewer'))).toEqual([
    'Company crud',
    'Company.ID cr',
    'Company.name crud',
    'Company.staff r',
    'Company.count()',
    'Employee r',
    'Employee.ID r',
    'Employee.double r',
    'Employee.employer r',
    'Employee.total()',
    'Employee.raise()',
    'Inbox c',
    'Inbox.ID c',
    'Inbox.text c',
  ]);
  expect(lines(roleView(model, 'HR'))).toContain('Employee.salary crud');
  expect(lines(roleView(model, 'HR'))).toContain('Clock.now()');
});

it('A view of a guest lacks relations to, and functions of entities of, what guests may not read', () => {
  const view = lines(roleView(modelWith(dataclasses + roles), 'guest'));
  expect(view).not.toContain('Company.staff cru');
  expect(view).toContain('Employee.total()');
  expect(view).not.toContain('Employee.raise()');
});

it('A view of a guest of a model with forceLogin holds the login alone', () => {
  const forced = roles.replace('roles:\n', 'roles:\n  forceLogin: true\n');
  const login = 'datastore: { functions: { authentify: { exposed: true } } }\n';
  expect(lines(roleView(modelWith(dataclasses + login + forced), 'guest'))).toEqual([
    'ds.authentify()',
  ]);
});

it('A view refuses a role that the model does not have', () => {
  expect(() => roleView(modelWith(dataclasses + roles), 'Boss')).toThrow(
    'The model has no role Boss.',
  );
});

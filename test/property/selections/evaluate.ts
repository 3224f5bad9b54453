import type { Company, Employee, Staff } from './staff.js';
import type { Relation, Tree, Value } from './tree.js';

/** The result of a tree: keys in order. */
export type Keys = readonly number[];

/** A filter's text and its meaning; `value` is its placeholder. */
export interface Meaning<E> {
  readonly text: string;
  readonly holds: (entity: E, value: Value, staff: Staff) => boolean;
}

/** An order's text beside the values that it compares, most significant first. */
export interface Sorting<E> {
  readonly text: string;
  readonly by: readonly {
    readonly value: (entity: E, staff: Staff) => Value;
    readonly down?: true;
  }[];
}

const fold = (value: Value): Value => (typeof value === 'string' ? value.toLowerCase() : value);
const isSame = (held: Value, given: Value): boolean => fold(held) === fold(given);
const isText = (value: Value): value is string => typeof value === 'string';
/** A comparison of a text attribute: a number is a text there. */
const isSameText = (held: string | null, given: Value): boolean =>
  isSame(held, typeof given === 'number' ? String(given) : given);

export const employeeFilters: readonly Meaning<Employee>[] = [
  { text: 'salary = :1', holds: ({ salary }, value) => isSameNumber(salary, value) },
  { text: 'salary != :1', holds: ({ salary }, value) => !isSameNumber(salary, value) },
  {
    text: 'salary > 1 and salary <= 3',
    holds: ({ salary }) => salary !== null && salary > 1 && salary <= 3,
  },
  { text: 'not (salary > 2)', holds: ({ salary }) => !(salary !== null && salary > 2) },
  { text: 'lastName = :1', holds: ({ lastName }, value) => isSameText(lastName, value) },
  { text: 'boss = null', holds: ({ boss }) => boss === null },
  {
    text: 'employer.city = :1',
    holds: ({ employer }, value, staff) =>
      isSameText(companyOf(staff, employer)?.city ?? null, value),
  },
  {
    text: 'reports.salary = :1',
    holds: ({ ID }, value, { employees }) =>
      employees.some(({ boss, salary }) => boss === ID && isSameNumber(salary, value)),
  },
  {
    text: 'reports.lastName != :1 or salary = 5',
    holds: ({ ID, salary }, value, { employees }) =>
      salary === 5 ||
      !employees.some(({ boss, lastName }) => boss === ID && isSameText(lastName, value)),
  },
];

export const companyFilters: readonly Meaning<Company>[] = [
  { text: 'city = :1', holds: ({ city }, value) => isSameText(city, value) },
  { text: 'city != :1', holds: ({ city }, value) => !isSameText(city, value) },
  { text: 'name begin "b"', holds: ({ name }) => isText(fold(name)) && /^b/i.test(name ?? '') },
  { text: 'ID > 2', holds: ({ ID }) => ID > 2 },
  {
    text: 'staff.salary = :1',
    holds: ({ ID }, value, { employees }) =>
      employees.some(({ employer, salary }) => employer === ID && isSameNumber(salary, value)),
  },
  {
    text: 'staff.boss.lastName = :1',
    holds: ({ ID }, value, staff) =>
      staff.employees.some(
        ({ employer, boss }) =>
          employer === ID && isSameText(employeeOf(staff, boss)?.lastName ?? null, value),
      ),
  },
  { text: 'name = null', holds: ({ name }) => name === null },
  {
    text: 'not (city = "Paris" and ID < 3)',
    holds: ({ city, ID }) => !(city === 'Paris' && ID < 3),
  },
  { text: 'ID = :1', holds: ({ ID }, value) => isSameNumber(ID, value) },
];

export const employeeOrders: readonly Sorting<Employee>[] = [
  { text: 'salary', by: [{ value: ({ salary }) => salary }] },
  { text: 'salary desc', by: [{ value: ({ salary }) => salary, down: true }] },
  {
    text: 'lastName, salary desc',
    by: [
      { value: ({ lastName }) => fold(lastName) },
      { value: ({ salary }) => salary, down: true },
    ],
  },
  {
    text: 'employer.name desc',
    by: [
      {
        value: ({ employer }, staff) => fold(companyOf(staff, employer)?.name ?? null),
        down: true,
      },
    ],
  },
  { text: 'ID desc', by: [{ value: ({ ID }) => ID, down: true }] },
];

export const companyOrders: readonly Sorting<Company>[] = [
  { text: 'name', by: [{ value: ({ name }) => fold(name) }] },
  { text: 'name desc', by: [{ value: ({ name }) => fold(name), down: true }] },
  {
    text: 'city, name',
    by: [{ value: ({ city }) => fold(city) }, { value: ({ name }) => fold(name) }],
  },
  { text: 'city desc', by: [{ value: ({ city }) => fold(city), down: true }] },
  { text: 'ID desc', by: [{ value: ({ ID }) => ID, down: true }] },
];

export function employeeKeys(staff: Staff, tree: Tree): Keys {
  return evaluate(
    staff,
    tree,
    staff.employees,
    employeeFilters,
    employeeOrders,
    employeeKeys,
    (of, by) => relatedEmployees(staff, of, by),
  );
}

export function companyKeys(staff: Staff, tree: Tree): Keys {
  return evaluate(
    staff,
    tree,
    staff.companies,
    companyFilters,
    companyOrders,
    companyKeys,
    (of) => {
      const owners = employeeKeys(staff, of);
      return ascending(
        staff.employees.flatMap(({ ID, employer }) =>
          owners.includes(ID) ? (employer ?? []) : [],
        ),
      );
    },
  );
}

function relatedEmployees(staff: Staff, of: Tree, relation: Relation): Keys {
  const { employees } = staff;
  if (relation === 'staff') {
    const owners = companyKeys(staff, of);
    return employees.flatMap(({ ID, employer }) => (owners.includes(employer ?? 0) ? ID : []));
  }
  const owners = employeeKeys(staff, of);
  return relation === 'reports'
    ? employees.flatMap(({ ID, boss }) => (owners.includes(boss ?? 0) ? ID : []))
    : ascending(employees.flatMap(({ ID, boss }) => (owners.includes(ID) ? (boss ?? []) : [])));
}

function evaluate<E extends { readonly ID: number }>(
  staff: Staff,
  tree: Tree,
  entities: readonly E[],
  filters: readonly Meaning<E>[],
  orders: readonly Sorting<E>[],
  keysOf: (staff: Staff, tree: Tree) => Keys,
  relatedTo: (of: Tree, relation: Relation) => Keys,
): Keys {
  const entity = (key: number): E => entities[key - 1] as E;
  switch (tree.kind) {
    case 'all':
      return entities.map(({ ID }) => ID);
    case 'keys':
      return [...new Set(tree.keys)].filter((key) => key >= 1 && key <= entities.length);
    case 'filter': {
      const { holds } = filters[tree.filter] as Meaning<E>;
      return keysOf(staff, tree.of).filter((key) => holds(entity(key), tree.value, staff));
    }
    case 'order': {
      const { by } = orders[tree.order] as Sorting<E>;
      return [...keysOf(staff, tree.of)].sort((a, b) => {
        for (const { value, down } of by) {
          const order = compared(value(entity(a), staff), value(entity(b), staff));
          if (order !== 0) return down === true ? -order : order;
        }
        return a - b;
      });
    }
    case 'slice':
      return keysOf(staff, tree.of).slice(tree.start, tree.end);
    case 'and':
    case 'minus': {
      const others = keysOf(staff, tree.right);
      return keysOf(staff, tree.left).filter(
        (key) => others.includes(key) === (tree.kind === 'and'),
      );
    }
    case 'or':
      return [...new Set([...keysOf(staff, tree.left), ...keysOf(staff, tree.right)])];
    case 'related':
      return relatedTo(tree.of, tree.relation);
  }
}

/** Null comes first. */
function compared(a: Value, b: Value): number {
  if (a === b) return 0;
  if (a === null) return -1;
  if (b === null) return 1;
  return a < b ? -1 : 1;
}

/** A text that reads as a number would be one; none of those here does. */
function isSameNumber(held: number | null, given: Value): boolean {
  return held === asNumber(given);
}

/** A text that is no number cannot be compared with one: its length stands for it. */
function asNumber(value: Value): number | null {
  return isText(value) ? value.length : value;
}

/** The value of a filter's placeholder. */
export function valueFor({ text }: Pick<Meaning<never>, 'text'>, value: Value): Value {
  return /(?:salary|ID) !?= :1/.test(text) ? asNumber(value) : value;
}

function companyOf({ companies }: Staff, key: number | null): Company | undefined {
  return companies.find(({ ID }) => ID === key);
}

function employeeOf({ employees }: Staff, key: number | null): Employee | undefined {
  return employees.find(({ ID }) => ID === key);
}

function ascending(keys: Keys): Keys {
  return [...new Set(keys)].sort((a, b) => a - b);
}

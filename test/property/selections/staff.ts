import fc from 'fast-check';

/** Entities as plain objects, over which selections are evaluated without a database. */
export interface Staff {
  readonly companies: readonly Company[];
  readonly employees: readonly Employee[];
}

export interface Company {
  readonly ID: number;
  readonly name: string | null;
  readonly city: string | null;
}

export interface Employee {
  readonly ID: number;
  readonly lastName: string | null;
  readonly salary: number | null;
  readonly employer: number | null;
  readonly boss: number | null;
}

const companyCount = 5;
const employeeCount = 12;

const names = fc.constantFrom('Ann', 'ann', 'Bo', 'bob', 'Cy', null);
const salaries = fc.constantFrom(1, 2, 3, 5, null);

const oneOf = (count: number): fc.Arbitrary<number | null> =>
  fc.oneof(fc.constant(null), fc.integer({ min: 1, max: count }));

export const staffs: fc.Arbitrary<Staff> = fc.record({
  companies: listOf(companyCount, (ID) =>
    fc.record({ ID, name: names, city: fc.constantFrom('Paris', 'Lyon', null) }),
  ),
  employees: listOf(employeeCount, (ID) =>
    fc.record({
      ID,
      lastName: names,
      salary: salaries,
      employer: oneOf(companyCount),
      // Later employees are not bosses of earlier ones, so that entities can be created in order.
      boss: fc.constantFrom(null, 1, 2, 3),
    }),
  ).map((employees) =>
    employees.map((each) => ((each.boss ?? 0) < each.ID ? each : { ...each, boss: null })),
  ),
});

function listOf<T>(
  count: number,
  item: (ID: fc.Arbitrary<number>) => fc.Arbitrary<T>,
): fc.Arbitrary<T[]> {
  const items = Array.from({ length: count }, (_, index) => item(fc.constant(index + 1)));
  return fc.tuple(...items);
}

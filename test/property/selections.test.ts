import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { selectionKeys } from '../support/selection-access.js';
import {
  type CompanySelection,
  type EmployeeSelection,
  type ServedSelections,
  serveSelections,
  type TestDatastore,
} from '../support/selections-served.js';
import { create } from '../support/server.js';
import {
  companyFilters,
  companyKeys,
  companyOrders,
  employeeFilters,
  employeeKeys,
  employeeOrders,
  valueFor,
} from './selections/evaluate.js';
import { staffs } from './selections/staff.js';
import { type Tree, trees } from './selections/tree.js';
import { sampled } from '../support/long.js';

const datastores = Number(process.env['PROPERTY_MODELS'] ?? sampled(6));
const treesPerDatastore = 60;

/** The selections of trees; a tree that occurs twice in another one is one selection there. */
class Built {
  readonly #employees = new Map<Tree, EmployeeSelection>();
  readonly #companies = new Map<Tree, CompanySelection>();

  constructor(private readonly ds: TestDatastore) {}

  employees(tree: Tree): EmployeeSelection {
    const known = this.#employees.get(tree) ?? this.#newEmployees(tree);
    this.#employees.set(tree, known);
    return known;
  }

  companies(tree: Tree): CompanySelection {
    const known = this.#companies.get(tree) ?? this.#newCompanies(tree);
    this.#companies.set(tree, known);
    return known;
  }

  #newEmployees(tree: Tree): EmployeeSelection {
    const { Employee } = this.ds;
    switch (tree.kind) {
      case 'all':
        return Employee.all();
      case 'keys':
        return Employee.fromKeys(tree.keys);
      case 'filter': {
        const { text } = employeeFilters[tree.filter] ?? { text: '' };
        return this.employees(tree.of).query(text, valueFor({ text }, tree.value));
      }
      case 'order':
        return this.employees(tree.of).orderBy(employeeOrders[tree.order]?.text ?? '');
      case 'slice':
        return this.employees(tree.of).slice(tree.start, tree.end);
      case 'and':
      case 'or':
      case 'minus':
        return this.employees(tree.left)[tree.kind](this.employees(tree.right));
      case 'related':
        if (tree.relation === 'staff') return this.companies(tree.of).staff;
        return this.employees(tree.of)[tree.relation === 'boss' ? 'boss' : 'reports'];
    }
  }

  #newCompanies(tree: Tree): CompanySelection {
    const { Company } = this.ds;
    switch (tree.kind) {
      case 'all':
        return Company.all();
      case 'keys':
        return Company.fromKeys(tree.keys);
      case 'filter': {
        const { text } = companyFilters[tree.filter] ?? { text: '' };
        return this.companies(tree.of).query(text, valueFor({ text }, tree.value));
      }
      case 'order':
        return this.companies(tree.of).orderBy(companyOrders[tree.order]?.text ?? '');
      case 'slice':
        return this.companies(tree.of).slice(tree.start, tree.end);
      case 'and':
      case 'or':
      case 'minus':
        return this.companies(tree.left)[tree.kind](this.companies(tree.right));
      case 'related':
        return this.employees(tree.of).employer;
    }
  }
}

describe('A selection that is combined from others', () => {
  let served: ServedSelections;

  beforeAll(async () => {
    served = await serveSelections();
  });
  afterAll(() => served.app.close());

  it('has the entities of its parts, in their order, and is read by one statement each time', async () => {
    const { ds, app, statements } = served;
    await fc.assert(
      fc.asyncProperty(staffs, fc.integer(), async (staff, seed) => {
        await ds.Employee.all().drop();
        await ds.Company.all().drop();
        await create(app, 'Company', staff.companies);
        await create(app, 'Employee', staff.employees);
        const reads = async <T>(read: () => Promise<T> | T): Promise<T> => {
          statements.length = 0;
          const result = await read();
          expect(statements).toHaveLength(1);
          return result;
        };
        const employees = fc.asyncProperty(
          trees('Employee', 3),
          fc.nat({ max: 5 }),
          async (tree, at) => {
            const wanted = employeeKeys(staff, tree);
            const built = new Built(ds).employees(tree);
            const found = await reads(() => built.toArray());
            expect(found.map(({ ID }) => ID)).toEqual(wanted);
            expect([...(await reads(() => selectionKeys(built)))]).toEqual(wanted);
            expect(await reads(() => built.count())).toBe(wanted.length);
            expect((await reads(() => built.first()))?.ID).toBe(wanted[0]);
            expect((await reads(() => built.last()))?.ID).toBe(wanted.at(-1));
            expect((await reads(() => built.at(at)))?.ID).toBe(wanted[at]);
            expect((await reads(() => built.at(-at - 1)))?.ID).toBe(wanted.at(-at - 1));
            const salaries = wanted.map((key) => staff.employees[key - 1]?.salary ?? 0);
            const sum = salaries.reduce((all, each) => all + each, 0);
            expect(await reads(() => built.sum('salary'))).toBe(sum);
            const numbers = [...new Set(salaries.filter((each) => each > 0))];
            expect(await reads(() => built.distinct('salary'))).toEqual(
              numbers.sort((a, b) => a - b),
            );
            const dropped = ds.transaction(async () => {
              const count = await built.drop();
              throw new Error(`dropped ${count}, left ${await ds.Employee.all().count()}`);
            });
            const left = staff.employees.length - wanted.length;
            await expect(dropped).rejects.toThrow(`dropped ${wanted.length}, left ${left}`);
          },
        );
        const companies = fc.asyncProperty(trees('Company', 3), async (tree) => {
          const wanted = companyKeys(staff, tree);
          const built = new Built(ds).companies(tree);
          expect((await reads(() => built.toArray())).map(({ ID }) => ID)).toEqual(wanted);
          expect(await reads(() => built.count())).toBe(wanted.length);
          const related = employeeKeys(staff, { kind: 'related', of: tree, relation: 'staff' });
          expect(await reads(() => built.staff.count())).toBe(related.length);
        });
        const runs = { seed, numRuns: treesPerDatastore };
        await fc.assert(employees, runs);
        await fc.assert(companies, runs);
      }),
      { numRuns: datastores },
    );
  });
});

import { describe, expect, it } from 'vitest';
import { companyModel, firstFiles, review, type Texts, told } from '../support/company-stubs.js';

const path = 'src/classes/CompanyEntity.ts';
const api = `import { CompanyEntityBase, type CompanySelection as Companies, type JsonObject } from '../generated/api.js';\n`;

function entityClass(members: string): Texts {
  return {
    [path]: `${api}export class CompanyEntity extends CompanyEntityBase {\n${members}\n}\n`,
  };
}

const declared =
  'f: { params: { a: string, b: { type: "Company.selection[]", optional: true } }, returns: Company.selection }';
const model = companyModel({ entity: declared });

describe('A function with another signature', () => {
  it.each([
    ['as declared', 'f(a: string, b?: Companies[]): Promise<Companies> {}'],
    ['not told', 'f(a, b) { return this.staff; }'],
    ['more may be given', 'f(a: string | number, b: Companies[] | undefined, c = 1): Companies {}'],
    ['told more closely', 'async f(a: string, b?: Array<Companies>): Promise<Companies | null> {}'],
    ['a type of the user’s', 'f(a: Name, b?: Parameters<Other>[0]): Result {}'],
    ['a property', 'f = (a: string, b?: Companies[]): Companies => this.staff;'],
    ['all parameters in one', 'f(...all: unknown[]): Companies {}'],
    ['overloads', 'f(a: number): void;\n f(a: string): Companies;\n f(a: unknown): never {}'],
  ])('is accepted: %s', async (_, member) => {
    expect(told(await review(model, entityClass(member)))).toEqual([]);
  });

  it.each([
    ['another type', 'f(a: number, b?: Companies[]): Companies {}'],
    ['another result', 'f(a: string, b?: Companies[]): Promise<string> {}'],
    ['a result where none is expected to lack', 'f(a: string, b?: Companies[]): void {}'],
    ['a list where one is', 'f(a: string[], b?: Companies[]): Companies {}'],
    ['one where a list is', 'f(a: string, b?: Companies): Companies {}'],
    ['too few parameters', 'f(a: string): Companies {}'],
    ['too many', 'f(a: string, b: Companies[] | undefined, c: string): Companies {}'],
    ['one that may be left out', 'f(a: string, b: Companies[]): Companies {}'],
    ['a property', 'f = (a: string): Companies => this.staff;'],
    ['an accessor', 'get f(): string { return "" }'],
  ])('is reported with both places: %s', async (_, member) => {
    const plan = await review(model, entityClass(`  // Mine.\n  ${member}`));
    expect(plan.edits).toEqual([]);
    expect(told(plan)).toEqual([
      'stub/signature server/src/classes/CompanyEntity.ts:4 CompanyEntity.f is not what the model declares at model.yaml at dataclasses.Company.functions.entity.f: f(a: string, b?: readonly CompanySelection[]): Promise<CompanySelection>.',
    ]);
    const [problem] = plan.problems;
    expect(problem?.severity).toBe('warning');
    const { start = 0, end = 0 } = problem?.origin ?? {};
    const written = /^(?:get )?(f)/.exec(member)?.[1];
    expect(entityClass(`  // Mine.\n  ${member}`)[path]?.slice(start, end)).toBe(written);
  });

  it('is reported if only one side is JSON', async () => {
    const json = companyModel({ entity: 'f: { params: { a: object, b: vector, c: date } }' });
    const good = entityClass('f(a: JsonObject, b: readonly number[], c: Date): unknown {}');
    expect(told(await review(json, good))).toEqual([]);
    const bad = entityClass('f(a: JsonObject, b: number, c: Date): unknown {}');
    expect(told(await review(json, bad))).toHaveLength(1);
  });
});

describe('Events and accessors', () => {
  const text = companyModel({
    fullName: '[get, set, query, orderBy]',
    rest: '    events: [saving, afterDrop]\n    restrict: true',
  });

  it('may ignore their parameters, and are added if they are missing', async () => {
    const plan = await review(text, {
      [path]: `${api}export class CompanyEntity extends CompanyEntityBase {
  async saving() {}
  get fullName() { return ''; }
}
`,
      'src/classes/Company.ts': `import { CompanyBase } from '../generated/api.js';
export class Company extends CompanyBase {
  restrict() { return null; }
  orderByFullName({ direction }: { direction: string }) { return direction; }
}
`,
    });
    expect(told(plan)).toEqual([]);
    expect(
      plan.edits.map(({ text: edited }) => edited.split('\n\n').slice(1).join('\n\n')),
    ).toEqual([
      `  queryFullName(query: ComputedQuery): FilterWithValues {
    throw notWritten('Company.queryFullName', 'src/classes/Company.ts', query);
  }
}
`,
      `  afterDrop(event: AfterDropEvent): Promise<void> {
    throw notWritten('CompanyEntity.afterDrop', 'src/classes/CompanyEntity.ts', event);
  }

  set fullName(value: string | null) {
    throw notWritten('CompanyEntity.fullName', 'src/classes/CompanyEntity.ts', value);
  }
}
`,
    ]);
  });

  it('are reported if a method stands in the place of an accessor', async () => {
    const plan = await review(text, entityClass('saving() {} afterDrop() {} fullName() {}'));
    expect(told(plan).filter((each) => each.includes('signature'))).toEqual([
      'stub/signature server/src/classes/CompanyEntity.ts:3 CompanyEntity.fullName is not what the model declares at model.yaml at dataclasses.Company.attributes.fullName: an accessor of fullName.',
    ]);
  });
});

describe('A member that the model no longer declares', () => {
  const before = companyModel({ entity: 'f: {}, g: {}', dataclass: 'd: {}' });

  it('is reported and kept', async () => {
    const files = firstFiles(before);
    const plan = await review(companyModel({ entity: 'g: {}' }), files, before);
    const text = files['src/classes/Company.ts'];
    const aside = 'src/classes/Company.ts.unused';
    expect(plan.edits).toEqual([
      { from: 'src/classes/Company.ts', path: aside, before: text, text },
    ]);
    expect(told(plan)).toEqual([
      'stub/unused-class server/src/classes/Company.ts:3 The model no longer declares anything in the class Company: its file is moved to server/src/classes/Company.ts.unused, which is not compiled.',
      'stub/removed server/src/classes/CompanyEntity.ts:4 The model no longer declares CompanyEntity.f. It stays as a method of your own.',
    ]);
  });

  it('is not reported if the user wrote it for another purpose', async () => {
    const files = entityClass('f(): unknown { return 1; }\n help() {}');
    const wanted = companyModel({ entity: 'f: {}' });
    expect(told(await review(wanted, files))).toEqual([]);
  });
});

describe('A #private field', () => {
  const cart = 'src/classes/Cart.ts';
  const modelOfScope = (scope: string): string =>
    companyModel({ rest: `singletons:\n  Cart: { scope: ${scope}, functions: { add: {} } }` });
  const files = {
    'src/classes/Basket.ts': `import { CartBase } from '../generated/api.js';
export class Basket extends CartBase {
  readonly #items = new Map();
  accessor #note = '';
}
`,
    [cart]: `import { Basket } from './Basket.js';
export class Cart extends Basket {
  #total = 0;
  static #made = 0;
  readonly #rate = 0.2;
  readonly #twice = (given: number): number => given * 2;
  private count = 0;
  constructor(...given: ConstructorParameters<typeof Basket>) {
    super(...given);
    Cart.#made += 1;
  }
  add(): unknown { this.#total += this.#taxed(this.#twice(1)); this.count += 1; return 1; }
  #taxed(given: number): number { return given * this.#rate; }
}
`,
  };

  it('of a singleton of scope session is reported, also in a class that it extends', async () => {
    const plan = await review(modelOfScope('session'), files);
    const lost = (field: string): string =>
      `Cart.#${field} is lost when a call ends on a server with STATE=database: a singleton of scope session is stored as JSON, which holds no #private fields. Declare it as: private ${field}.`;
    expect(told(plan)).toEqual([
      `stub/lost-field server/src/classes/Basket.ts:3 ${lost('items')}`,
      `stub/lost-field server/src/classes/Basket.ts:4 ${lost('note')}`,
      `stub/lost-field server/${cart}:3 ${lost('total')}`,
    ]);
    expect(plan.problems.map(({ severity }) => severity)).toEqual([
      'warning',
      'warning',
      'warning',
    ]);
    expect(plan.edits).toEqual([]);
  });

  it.each(['process', 'shared'])('of a singleton of scope %s is not reported', async (scope) => {
    expect(told(await review(modelOfScope(scope), files))).toEqual([]);
  });
});

describe('A file that cannot be used', () => {
  const wanted = companyModel({ entity: 'f: {}', dataclass: 'd: {}' });

  it.each([
    ['no class', 'export const x = 1;\n'],
    ['a class of another name', `${api}export class Company extends CompanyEntityBase {}\n`],
    ['a class that is not exported', `${api}class CompanyEntity extends CompanyEntityBase {}\n`],
    ['a default', `${api}export default class CompanyEntity extends CompanyEntityBase {}\n`],
    ['a type', `export type { CompanyEntity } from './other.js';\n`],
    ['a circle', `export * from './CompanyEntity.js';\n`],
    ['a package', `export { CompanyEntity } from 'somewhere';\n`],
    ['nothing', ''],
  ])('is reported and not changed: %s', async (_, text) => {
    const plan = await review(companyModel({ entity: 'f: {}' }), { [path]: text });
    expect(plan.edits).toEqual([]);
    expect(told(plan)).toEqual([
      'stub/no-class server/src/classes/CompanyEntity.ts:1 server/src/classes/CompanyEntity.ts must export the class CompanyEntity, which extends CompanyEntityBase.',
    ]);
  });

  it('is reported with its place if it is not valid TypeScript', async () => {
    const plan = await review(wanted, {
      ...firstFiles(companyModel({ dataclass: 'e: {}' })),
      [path]: `${api}\nexport class CompanyEntity extends CompanyEntityBase {\n  f( {\n}\n`,
    });
    expect(plan.problems.map(({ severity }) => severity)).toEqual(['error']);
    expect(told(plan)[0]).toMatch(
      /^stub\/not-typescript server\/src\/classes\/CompanyEntity\.ts:6 .* is not TypeScript: /,
    );
  });

  it('is reported if a file that it imports is not valid TypeScript', async () => {
    const plan = await review(wanted, {
      [path]: `export * from './other.js';\n`,
      'src/classes/other.ts': 'export class {{',
    });
    expect(told(plan)[0]).toMatch(/^stub\/not-typescript server\/src\/classes\/other\.ts:1 /);
  });
});

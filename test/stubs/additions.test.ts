import { describe, expect, it } from 'vitest';
import {
  applied,
  companyModel,
  firstFiles,
  isAddition,
  review,
  type Texts,
  told,
} from '../support/company-stubs.js';

const path = 'src/classes/CompanyEntity.ts';
const hire = 'hire: { params: { person: Company }, returns: Company }';
const rename = 'rename: { params: { to: string, like: Company.selection }, returns: void }';
const before = companyModel({ entity: hire });
const after = companyModel({ entity: `${hire}, ${rename}` });

/** The file after adding `rename`, with a check that nothing was removed. */
async function added(text: string, others: Texts = {}, file = path): Promise<string> {
  const files: Texts = { [path]: text, ...others };
  const plan = await review(after, files, before);
  expect(told(plan)).toEqual([]);
  const changed = applied(files, plan);
  expect(plan.edits.map((each) => each.path)).toEqual([file]);
  expect(isAddition(files[file] ?? '', changed[file] ?? '')).toBe(true);
  const again = await review(after, changed);
  expect(again.edits).toEqual([]);
  expect(told(again)).toEqual([]);
  return changed[file] ?? '';
}

describe('A class file of the first run', () => {
  it('is not changed by the next run', async () => {
    for (const model of [before, after]) {
      const plan = await review(model, firstFiles(model));
      expect(plan.edits).toEqual([]);
      expect(told(plan)).toEqual([]);
    }
  });

  it('gets a function that is added to the model', async () => {
    expect(await added(firstFiles(before)[path] ?? '')).toBe(
      `import { CompanyEntityBase, notWritten, type CompanySelection } from '../generated/api.js';

export class CompanyEntity extends CompanyEntityBase {
  hire(person: CompanyEntity): Promise<CompanyEntity> {
    throw notWritten('CompanyEntity.hire', 'src/classes/CompanyEntity.ts', person);
  }

  rename(to: string, like: CompanySelection): Promise<void> {
    throw notWritten('CompanyEntity.rename', 'src/classes/CompanyEntity.ts', to, like);
  }
}
`,
    );
  });
});

describe('A class as users write it', () => {
  it('keeps renamed imports, decorators, comments, own members and the code around it', async () => {
    expect(
      await added(`// © us
import { CompanyEntityBase as Base, notWritten as todo } from "../generated/api.js"; // the API
import type {CompanySelection as Companies} from '../generated/api.js'

@sealed /* as it is */ export class CompanyEntity extends Base
{
   private count = 0 // no semicolon

   /** Mine. */
   async hire(person: CompanyEntity): Promise<CompanyEntity> { this.count++; return person }
   static rename() {} // another one
   // the end
}

function sealed(_: unknown, __: unknown): void {}
`),
    ).toBe(`// © us
import { CompanyEntityBase as Base, notWritten as todo } from "../generated/api.js"; // the API
import type {CompanySelection as Companies} from '../generated/api.js'

@sealed /* as it is */ export class CompanyEntity extends Base
{
   private count = 0 // no semicolon

   /** Mine. */
   async hire(person: CompanyEntity): Promise<CompanyEntity> { this.count++; return person }
   static rename() {} // another one
   // the end

   rename(to: string, like: Companies): Promise<void> {
      throw todo('CompanyEntity.rename', 'src/classes/CompanyEntity.ts', to, like);
   }
}

function sealed(_: unknown, __: unknown): void {}
`);
  });

  it('keeps its line endings and tabs', async () => {
    const text = `import {
	CompanyEntityBase,
	notWritten,
} from '../generated/api.js';

export class CompanyEntity extends CompanyEntityBase {
	hire(person: CompanyEntity) {
		return person;
	}
}
`;
    const windows = (unix: string): string => unix.replaceAll('\n', '\r\n');
    expect(await added(windows(text))).toBe(
      windows(`import {
	CompanyEntityBase,
	notWritten,
	type CompanySelection,
} from '../generated/api.js';

export class CompanyEntity extends CompanyEntityBase {
	hire(person: CompanyEntity) {
		return person;
	}

	rename(to: string, like: CompanySelection): Promise<void> {
		throw notWritten('CompanyEntity.rename', 'src/classes/CompanyEntity.ts', to, like);
	}
}
`),
    );
  });

  it('may be on one line, without imports, after a line for the shell', async () => {
    expect(
      await added(`#!/usr/bin/env node
import * as api from '../generated/api.js'
  export class CompanyEntity extends api.CompanyEntityBase { hire(person: CompanyEntity) { return person } }`),
    ).toBe(`#!/usr/bin/env node
import * as api from '../generated/api.js'
  export class CompanyEntity extends api.CompanyEntityBase { hire(person: CompanyEntity) { return person } 

    rename(to: string, like: api.CompanySelection): Promise<void> {
      throw api.notWritten('CompanyEntity.rename', 'src/classes/CompanyEntity.ts', to, like);
    }
  }`);
  });

  it('may use the names of the API for other things', async () => {
    const text = `import { CompanyEntityBase } from '../generated/api.js';
const notWritten = 1, [CompanySelection] = [2];
export class CompanyEntity extends CompanyEntityBase {
  hire(person: CompanyEntity) { return person; }
}
`;
    expect(await added(text)).toContain(
      `import { CompanyEntityBase, notWritten as notWritten2, type CompanySelection as CompanySelection2 } from '../generated/api.js';`,
    );
    expect(await added(text))
      .toContain(`  rename(to: string, like: CompanySelection2): Promise<void> {
    throw notWritten2(`);
  });

  it('may be empty', async () => {
    const files = { [path]: `export class CompanyEntity extends (null as never) {}` };
    // The class that an expression returns is unknown.
    expect(told(await review(before, files))).toEqual([
      'stub/not-added server/src/classes/CompanyEntity.ts:1 CompanyEntity lacks hire, unless it inherits it from a class that drs-gen cannot read. Nothing is added.',
    ]);
    const plan = await review(before, {
      [path]: `import { CompanyEntityBase } from '../generated/api.js';\nexport class CompanyEntity extends CompanyEntityBase {}\n`,
    });
    expect(plan.edits[0]?.text)
      .toBe(`import { CompanyEntityBase, notWritten } from '../generated/api.js';
export class CompanyEntity extends CompanyEntityBase {
  hire(person: CompanyEntity): Promise<CompanyEntity> {
    throw notWritten('CompanyEntity.hire', 'src/classes/CompanyEntity.ts', person);
  }
}
`);
  });

  it('may end with a property without a semicolon', async () => {
    const model = companyModel({ entity: '"x²": { returns: void }' });
    const plan = await review(model, {
      [path]: `import { CompanyEntityBase } from '../generated/api.js'
export class CompanyEntity extends CompanyEntityBase {
  count = 0
}
`,
    });
    expect(plan.edits[0]?.text).toContain(`  count = 0;

  'x²'(): Promise<void> {`);
  });
});

describe('A class in another file', () => {
  const body = `{
  hire(person: CompanyEntity): Promise<CompanyEntity> { return Promise.resolve(person); }
}
`;

  it('may be exported from there', async () => {
    const elsewhere = 'src/classes/company/impl.ts';
    const text = `import { CompanyEntityBase } from '../../generated/api.js';
import { type CompanyEntity } from '../CompanyEntity.js';
export class Impl extends CompanyEntityBase ${body}`;
    const changed = await added(
      `export { Impl as CompanyEntity } from './company/impl.js';\n`,
      { [elsewhere]: text },
      elsewhere,
    );
    expect(changed).toContain(`like: CompanySelection): Promise<void> {
    throw notWritten('CompanyEntity.rename', 'src/classes/company/impl.ts', to, like);`);
    expect(changed).toContain(
      `import { CompanyEntityBase, notWritten, type CompanySelection } from '../../generated/api.js';`,
    );
  });

  it.each([
    ['a star', `export * from './other.js';\n`, 'CompanyEntity'],
    ['an index', `export * from './other';\n`, 'CompanyEntity'],
    [
      'an import',
      `import { Impl as C } from './other.js';\nexport { C as CompanyEntity };\n`,
      'Impl',
    ],
  ])('may be re-exported by %s', async (_, text, name) => {
    const other = 'src/classes/other.ts';
    const code = `import { CompanyEntityBase } from '../generated/api.js';
export class ${name} extends CompanyEntityBase {
  hire(person: unknown) { return person as never; }
}
`;
    expect(await added(text, { [other]: code }, other)).toContain('rename(to: string');
  });

  it('may be the value of a constant', async () => {
    expect(
      await added(`import * as api from '../generated/api.js';
export const CompanyEntity = class extends api.CompanyEntityBase {
  hire(person: api.CompanyEntity) { return person; }
};
`),
    ).toContain(`  rename(to: string, like: api.CompanySelection): Promise<void> {`);
  });

  it('may inherit functions from a class of the user', async () => {
    const files = {
      [path]: `import { Common } from './common.js';
export class CompanyEntity extends Common {}
`,
      'src/classes/common.ts': `import { CompanyEntityBase } from '../generated/api.js';
export abstract class Common extends CompanyEntityBase {
  hire(person: unknown) { return person as never; }
  rename(to: string, like: unknown): void { void [to, like]; }
}
`,
    };
    const plan = await review(after, files, before);
    expect([plan.edits, told(plan)]).toEqual([[], []]);
  });
});

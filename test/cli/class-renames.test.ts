import { existsSync, readFileSync, statSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { lazyCompiler } from '../../generator/cli/compiler.js';
import { classNames } from '../../generator/emit/classes/class-names.js';
import { userClasses } from '../../generator/emit/classes/user-classes.js';
import { lookInto } from '../../generator/output/look.js';
import { nodeDisk } from '../../generator/output/node-disk.js';
import { userFolder, type UserFolder } from '../../generator/output/user-edits.js';
import { changedNames } from '../../generator/stubs/changed-names.js';
import { renameInClasses } from '../../generator/stubs/rename-classes.js';
import { type Printed, Project } from '../support/project.js';
import { modelOf } from '../support/server.js';
import { isLong, itLong } from '../support/long.js';

const projects: Project[] = [];

afterAll(() => {
  for (const project of projects) project.delete();
});

/** The server of a model, with files of the user. */
async function projectOf(
  model: string,
  files: Readonly<Record<string, string>> = {},
): Promise<Project> {
  const project = await Project.create();
  projects.push(project);
  expect(await project.generate(model)).toMatchObject({ code: 0 });
  for (const [path, text] of Object.entries(files)) project.write(path, text);
  return project;
}

/** The code that a test begins with compiles. A check takes seconds, so that one of the result has to do in the ordinary run. */
function expectSound(project: Project): void {
  if (isLong) expect(project.errors).toEqual([]);
}

interface Names {
  readonly company: string;
  readonly fax: string;
  readonly fullName: string;
  readonly hire: string;
  readonly clock: string;
}

const old: Names = {
  company: 'Company',
  fax: 'fax',
  fullName: 'fullName',
  hire: 'hire',
  clock: 'Clock',
};

/** The model with some names changed, each with its `renamedFrom`. */
function model(changed: Partial<Names> = {}): string {
  const { company, fax, fullName, hire, clock } = { ...old, ...changed };
  const from = (name: keyof Names): string =>
    changed[name] === undefined ? '' : `renamedFrom: ${old[name]}, `;
  return `drs: 1
name: renames
dataclasses:
  ${company}:
${changed.company === undefined ? '' : '    renamedFrom: Company\n'}    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: string
      fax: string
      staff: { to: Employee, many: true, inverse: employer }
    functions:
      dataclass: { called: { params: { name: string }, returns: ${company}.selection } }
      selection: { faxes: { returns: 'string[]' } }
      entity: { ${hire}: { ${from('hire')}params: { person: Employee }, returns: Employee } }
    events: [saving]
  Employee:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      lastName: string
      ${fax}: { ${from('fax')}type: string }
      ${fullName}: { ${from('fullName')}computed: string, accessors: [get, set, query, orderBy] }
      employer: { to: ${company} }
    functions:
      entity: { send: { params: { from: ${company} }, returns: string } }
    restrict: true
singletons:
  ${clock}:
${changed.clock === undefined ? '' : '    renamedFrom: Clock\n'}    functions: { now: { returns: date } }
`;
}

const employeeEntity = `import { EmployeeEntityBase, type CompanyEntity, type EmployeeObject } from '../generated/api.js';

interface Machine {
  readonly fax: string;
}

export class EmployeeEntity extends EmployeeEntityBase {
  // The fax is old; fullName is not.
  get fullName(): string | null {
    return this.lastName;
  }

  set fullName(value: string | null) {
    this.lastName = value;
    this.fax    = value;
  }

  async send(from: CompanyEntity): Promise<string> {
    const { fax, lastName: last } = this;
    const { fax: own = 'none' } = from.toObject();
    const machine: Machine = { fax: 'machine' };
    const inner = (fax: string): string => fax + machine.fax;
    const other = this.ds.Employee.new({ fax, lastName: last });
    other.fromObject({ fax: own });
    await other.save();
    let left: string | null;
    ({ fax: left } = other);
    ({ fax: left = null } = other.toObject());
    const told = ({ fax: number }: EmployeeObject): string => number ?? '';
    for await (const { fax } of this.ds.Employee.query('fax = :1', left)) console.log(fax);
    const company = this.ds.Company.new({ fax: this.fax });
    company.fax = other.fullName;
    const loose = JSON.parse('{}') as any;
    const plain = [{ fax: 1 }].map((each) => ({ ...each, fax: each.fax }));
    console.log(plain);
    loose.fax = [from.fax, this['fax'], told(this.toObject())];
    return inner(other.fax ?? \`\${company.fax ?? ''} fax\`);
  }
}
`;

const employee = `import {
  EmployeeBase,
  type ComputedOrder,
  type ComputedQuery,
  type FilterWithValues,
  type Restriction,
} from '../generated/api.js';

export class Employee extends EmployeeBase {
  queryFullName({ value }: ComputedQuery): FilterWithValues {
    return { filter: 'lastName = :1', values: [value] };
  }

  orderByFullName({ direction }: ComputedOrder): string {
    return \`lastName \${direction}\`;
  }

  restrict(): Restriction {
    return 'fax != null';
  }
}
`;

/** The reports about users' files, each with the word that is now at its place. */
function told(project: Project, { err }: Printed): readonly string[] {
  return [...err.matchAll(/^server\/(\S+):(\d+):(\d+) {2}\w+ {2}(stub\/\S+)$/gm)].map(
    ([, path = '', line, column, code]) => {
      const text = project.has(path) ? project.read(path).split('\n')[Number(line) - 1] : '';
      const [found] = /^\w*/.exec((text ?? '').slice(Number(column) - 1)) ?? [];
      return `${code ?? ''} ${path}:${line ?? ''} ${found ?? ''}`;
    },
  );
}

describe('A renamed attribute', () => {
  it('is renamed where the types prove it, reported where they do not, and left alone where it is another attribute', async () => {
    const project = await projectOf(model(), {
      'src/classes/EmployeeEntity.ts': employeeEntity,
      'src/classes/Employee.ts': employee,
    });
    expectSound(project);
    const answer = await project.generate(model({ fax: 'telefax', fullName: 'wholeName' }));
    expect(answer.code).toBe(0);
    expect(project.read('src/classes/EmployeeEntity.ts')).toBe(
      employeeEntity
        .replaceAll('this.fax ', 'this.telefax ')
        .replace('get fullName', 'get wholeName')
        .replace('set fullName', 'set wholeName')
        .replace('{ fax, lastName: last } = this', '{ telefax: fax, lastName: last } = this')
        .replace('new({ fax, last', 'new({ telefax: fax, last')
        .replace('fromObject({ fax: own', 'fromObject({ telefax: own')
        .replace('({ fax: left } =', '({ telefax: left } =')
        .replace('({ fax: left = null', '({ telefax: left = null')
        .replace('({ fax: number', '({ telefax: number')
        .replace('const { fax } of', 'const { telefax: fax } of')
        .replace('new({ fax: this.fax })', 'new({ fax: this.telefax })')
        .replace('other.fullName', 'other.wholeName')
        .replace('other.fax', 'other.telefax'),
    );
    expect(project.read('src/classes/Employee.ts')).toBe(
      employee
        .replace('queryFullName', 'queryWholeName')
        .replace('orderByFullName', 'orderByWholeName'),
    );
    expect(told(project, answer)).toEqual([
      'stub/old-name src/classes/Employee.ts:19 fax',
      'stub/old-name src/classes/EmployeeEntity.ts:30 fax',
      'stub/old-name src/classes/EmployeeEntity.ts:34 fax',
      'stub/old-name src/classes/EmployeeEntity.ts:34 fax',
      'stub/old-name src/classes/EmployeeEntity.ts:36 fax',
      'stub/old-name src/classes/EmployeeEntity.ts:36 fax',
      'stub/old-name src/classes/EmployeeEntity.ts:37 fax',
    ]);
    expect(answer.err).toContain('This may mean Employee.fax, which is telefax now.');
    expect(project.errors).toEqual([
      expect.stringContaining("EmployeeEntity.ts: Element implicitly has an 'any' type"),
    ]);
  });

  itLong('changes nothing and reports nothing in the second run', async () => {
    const project = await projectOf(model(), { 'src/classes/EmployeeEntity.ts': employeeEntity });
    const newer = model({ fax: 'telefax' });
    const dry = await project.generate(newer, '--dry-run');
    expect(dry.out).toContain('update    src/classes/EmployeeEntity.ts');
    expect(dry.out).toContain('+    this.telefax    = value;');
    expect(await project.generate(newer)).toMatchObject({ code: 0 });
    const tree = project.tree();
    const again = await project.generate(newer);
    expect([again.code, told(project, again)]).toEqual([0, []]);
    expect(project.tree()).toEqual(tree);
    expect(await project.generate(newer, '--check')).toMatchObject({ code: 0, out: '' });
  });

  itLong('renames the accessors that are named after it', async () => {
    const project = await projectOf(model(), { 'src/classes/Employee.ts': employee });
    const answer = await project.generate(model({ fullName: 'wholeName' }));
    expect([answer.code, told(project, answer)]).toEqual([0, []]);
    expect(project.read('src/classes/Employee.ts')).toBe(
      employee
        .replace('queryFullName', 'queryWholeName')
        .replace('orderByFullName', 'orderByWholeName'),
    );
  });

  itLong('keeps line endings, a byte order mark and everything else byte for byte', async () => {
    const text = `\ufeff${employeeEntity.replaceAll('\n', '\r\n')}`;
    const project = await projectOf(model(), { 'src/classes/EmployeeEntity.ts': text });
    await project.generate(model({ fax: 'telefax' }));
    const after = project.read('src/classes/EmployeeEntity.ts');
    const changed = after.replaceAll(/telefax: fax\b|telefax/g, 'fax');
    expect(after).not.toBe(text);
    expect(changed).toBe(text);
  });

  itLong(
    'is only reported when the types of the server are missing, except for members of classes',
    async () => {
      const project = await projectOf(model(), {
        'src/classes/EmployeeEntity.ts': employeeEntity,
        'src/classes/Employee.ts': employee,
      });
      project.remove('src/generated');
      const answer = await project.generate(model({ fax: 'telefax', fullName: 'wholeName' }));
      expect(project.read('src/classes/Employee.ts')).toContain('queryWholeName(');
      expect(project.read('src/classes/EmployeeEntity.ts')).toBe(
        employeeEntity
          .replace('get fullName', 'get wholeName')
          .replace('set fullName', 'set wholeName'),
      );
      const lines = [
        15, 19, 20, 23, 24, 27, 28, 29, 30, 30, 31, 31, 32, 34, 34, 36, 36, 36, 37, 37, 37,
      ];
      const fax = told(project, answer).filter((each) => each.endsWith(' fax'));
      expect(fax).toEqual([
        'stub/old-name src/classes/Employee.ts:19 fax',
        ...lines.map((line) => `stub/old-name src/classes/EmployeeEntity.ts:${String(line)} fax`),
      ]);
      expect(answer.err).toContain('stub/no-types');
    },
  );
});

/** Class code of a whole server, under some names. */
function classCode({ company, hire, clock }: Names, folder = ''): Readonly<Record<string, string>> {
  const up = folder === '' ? '..' : '../..';
  return {
    [`src/classes/${folder}${company}.ts`]: `import { ${company}Base, type ${company}Selection } from '${up}/generated/api.js';
import { helped } from '${up}/classes/help.js';

/** Company has a Company. */
export class ${company} extends ${company}Base {
  called(name: string): ${company}Selection {
    return helped(this.query('name = :1', name));
  }
}
`,
    [`src/classes/${folder}${company}Entity.ts`]: `import * as api from '${up}/generated/api.js';
import type { ${company} } from './${company}.js';

export class ${company}Entity extends api.${company}EntityBase implements Partial<api.${company}Values> {
  async ${hire}(person: api.EmployeeEntity): Promise<api.EmployeeEntity> {
    const dataclass: ${company} = this.ds.${company};
    person.employer.set((await dataclass.all().first()) ?? this);
    return person;
  }

  saving({ touched }: api.SaveEvent<api.${company}Types>): undefined {
    const { ${company}: all } = this.ds;
    if (touched.length > 0 && all === this.ds.${company}) console.log('Company saved');
  }
}
`,
    [`src/classes/${company}Selection.ts`]: `import { ${company}SelectionBase, notWritten } from '../generated/api.js';

export class ${company}Selection extends ${company}SelectionBase {
  faxes(): Promise<readonly string[]> {
    throw notWritten('${company}Selection.faxes', 'src/classes/${company}Selection.ts');
  }
}
`,
    'src/classes/help.ts': `import type { ${company}Selection as Companies } from '../generated/api.js';
import type { ${clock} } from './${clock}.js';

export type Time = ReturnType<${clock}['now']>;

export function helped(all: Companies, Company = 1): Companies {
  return Company > 0 ? all : all;
}
`,
    [`src/classes/${clock}.ts`]: `import { ${clock}Base } from '../generated/api.js';
export class ${clock} extends ${clock}Base {
  now(): Date {
    return new Date();
  }
}
`,
  };
}

const newNames: Names = {
  company: 'Firm',
  fax: 'telefax',
  fullName: 'wholeName',
  hire: 'employ',
  clock: 'Watch',
};

describe('A renamed dataclass', () => {
  it.each(isLong ? ['', 'company/'] : ['company/'])(
    'renames its classes, their files in src/classes/%s and every use of them',
    async (folder) => {
      const before = classCode(old, folder);
      const project = await projectOf(model());
      if (folder !== '') {
        for (const name of ['Company', 'CompanyEntity']) project.remove(`src/classes/${name}.ts`);
      }
      for (const [path, text] of Object.entries(before)) project.write(path, text);
      for (const name of ['Employee', 'EmployeeEntity']) {
        const text = name === 'Employee' ? employee : employeeEntity;
        project.write(`src/classes/${name}.ts`, text);
      }
      await project.generate(model());
      expectSound(project);

      const newer = model({ company: 'Firm', hire: 'employ', clock: 'Watch' });
      if (isLong) {
        const checked = await project.generate(newer, '--check');
        expect(checked).toMatchObject({ code: 1 });
        expect(checked.out).toContain(
          `rename    src/classes/${folder}Company.ts → src/classes/${folder}Firm.ts`,
        );
      }
      const answer = await project.generate(newer);
      expect(answer.code).toBe(0);
      expect(answer.err).toContain('4 renamed');
      const after = classCode({ ...old, company: 'Firm', hire: 'employ', clock: 'Watch' }, folder);
      const classes = project.tree('src/classes/');
      expect(classes).toEqual({
        ...Object.fromEntries(
          Object.entries(after).map(([path, text]) => [path.slice('src/classes/'.length), text]),
        ),
        'Employee.ts': employee,
        'EmployeeEntity.ts': employeeEntity
          .replaceAll('CompanyEntity', 'FirmEntity')
          .replace('ds.Company', 'ds.Firm'),
      });
      expect(told(project, answer)).toEqual([
        `stub/old-name src/classes/${folder}FirmEntity.ts:13 Company`,
      ]);
      expect(project.errors).toEqual([]);
      const tree = project.tree();
      expect(told(project, await project.generate(newer))).toEqual([]);
      expect(project.tree()).toEqual(tree);
    },
  );
});

describe('Code outside of class code', () => {
  it('is not changed; drs-gen reports each place and what to write there', async () => {
    const route = `import type { FastifyRequest } from 'fastify';
import type { CompanyEntity } from '../generated/api.js';
import '../generated/app.js';

export async function faxOf({ ds }: FastifyRequest): Promise<string | null> {
  const person = await ds.Employee.query("fax != ''").first();
  const company: CompanyEntity | null = (await person?.employer.get()) ?? null;
  return person?.fax ?? company?.fax ?? null;
}
`;
    const test = `import { Clock } from '../src/classes/Clock.js';\n\nconsole.log(Clock.name);\n`;
    const broken = 'const { fax = ;\n';
    const project = await projectOf(model(), {
      'src/routes/fax.ts': route,
      'test/clock.test.ts': test,
      'src/broken.ts': broken,
    });
    const answer = await project.generate(
      model({ company: 'Firm', fax: 'telefax', clock: 'Watch' }),
    );
    expect(answer.code).toBe(0);
    expect(told(project, answer)).toEqual([
      'stub/not-searched src/broken.ts:1 ',
      'stub/renamed-outside src/routes/fax.ts:2 CompanyEntity',
      'stub/old-name src/routes/fax.ts:6 fax',
      'stub/renamed-outside src/routes/fax.ts:7 CompanyEntity',
      'stub/renamed-outside src/routes/fax.ts:8 fax',
      'stub/renamed-outside test/clock.test.ts:1 Clock',
      'stub/renamed-outside test/clock.test.ts:1 Clock',
      'stub/renamed-outside test/clock.test.ts:3 Clock',
    ]);
    expect(answer.err).toContain('The model renames fax: write telefax.');
    expect(project.read('src/routes/fax.ts')).toBe(route);
    expect(project.read('test/clock.test.ts')).toBe(test);
    expect(project.read('src/broken.ts')).toBe(broken);
    expect(project.has('src/classes/Watch.ts')).toBe(true);
  });
});

describe('A class that cannot be renamed', () => {
  const newer = model({ company: 'Firm' });

  itLong('is an error when its file is not valid TypeScript, and nothing is written', async () => {
    const project = await projectOf(model());
    project.write('src/classes/CompanyEntity.ts', 'export class CompanyEntity extends {\n');
    const tree = project.tree();
    const answer = await project.generate(newer);
    expect(answer.code).toBe(3);
    expect(told(project, answer)).toEqual(['stub/not-typescript src/classes/CompanyEntity.ts:2 ']);
    expect(project.tree()).toEqual(tree);
  });

  itLong('is an error when its file uses the new name for something else', async () => {
    const project = await projectOf(model(), {
      'src/classes/CompanyEntity.ts': `import { CompanyEntityBase } from '../generated/api.js';
const FirmEntity = 1;
export class CompanyEntity extends CompanyEntityBase {
  readonly n = FirmEntity;
}
`,
    });
    const tree = project.tree();
    const answer = await project.generate(newer);
    expect(answer.code).toBe(3);
    expect(answer.err).toContain('The class CompanyEntity is FirmEntity now, and this file calls');
    expect(told(project, answer)).toContain(
      'stub/not-renamed src/classes/CompanyEntity.ts:3 CompanyEntity',
    );
    expect(project.tree()).toEqual(tree);
  });

  itLong('keeps its old name in other files that use the new one for something else', async () => {
    const helper = `import type { CompanyEntity, CompanyTypes } from '../generated/api.js';
export { CompanySelection } from './CompanySelection.js';
type FirmEntity = Partial<CompanyTypes>;
export type Both = CompanyEntity | FirmEntity;
`;
    const project = await projectOf(model(), { 'src/classes/helper.ts': helper });
    expect(await project.generate(newer)).toMatchObject({ code: 0 });
    expect(project.read('src/classes/helper.ts')).toBe(
      helper
        .replace('{ CompanyEntity, CompanyTypes }', '{ FirmEntity as CompanyEntity, FirmTypes }')
        .replace(
          "CompanySelection } from './CompanySelection.js'",
          "FirmSelection } from './FirmSelection.js'",
        )
        .replace('<CompanyTypes>', '<FirmTypes>'),
    );
    expect(project.errors).toEqual([]);
  });
});

itLong(
  'A class that the user has renamed already is used as it is, without a message',
  async () => {
    const project = await projectOf(model());
    const code = classCode(newNames);
    for (const name of ['Company', 'CompanyEntity', 'CompanySelection', 'Clock']) {
      project.remove(`src/classes/${name}.ts`);
    }
    for (const [path, text] of Object.entries(code)) project.write(path, text);
    const answer = await project.generate(model(newNames));
    expect(answer.code).toBe(0);
    expect(answer.err).not.toContain('renamed');
    expect(told(project, answer)).toEqual(['stub/old-name src/classes/FirmEntity.ts:13 Company']);
    for (const [path, text] of Object.entries(code)) expect(project.read(path)).toBe(text);
    expect(project.has('src/classes/Company.ts')).toBe(false);
    expect(project.errors).toEqual([]);
  },
);

itLong('A name that changed twice between two runs becomes the last one', async () => {
  const project = await projectOf(model(), { 'src/classes/EmployeeEntity.ts': employeeEntity });
  const newer = model({ fax: 'telex' }).replace('renamedFrom: fax', 'renamedFrom: [fax, telefax]');
  expect(await project.generate(newer)).toMatchObject({ code: 0 });
  expect(project.read('src/classes/EmployeeEntity.ts')).toContain('this.telex    = value');
});

itLong('Warnings about old names stop the run when warnings are errors', async () => {
  const project = await projectOf(`${model()}roles: { restrictedByDefault: false }\n`, {
    'src/classes/Employee.ts': employee,
  });
  const tree = project.tree();
  const answer = await project.generate(
    `${model({ fax: 'telefax' })}roles: { restrictedByDefault: false }\n`,
    '--warn-as-error',
  );
  expect([answer.code, told(project, answer)]).toEqual([
    1,
    ['stub/old-name src/classes/Employee.ts:19 fax'],
  ]);
  expect(project.tree()).toEqual(tree);
});

itLong('Two names that change places are exchanged, and so are their files', async () => {
  const text = model().replace(
    'fax: string\n      staff',
    'fax: string\n      telex: string\n      staff',
  );
  const project = await projectOf(text, {
    'src/classes/CompanyEntity.ts': `import { CompanyEntityBase, type EmployeeEntity } from '../generated/api.js';
export class CompanyEntity extends CompanyEntityBase {
  async hire(person: EmployeeEntity): Promise<EmployeeEntity> {
    const { fax, telex } = this;
    this.ds.Company.new({ fax: telex, telex: fax, name: person.fax });
    return person;
  }
  saving(): undefined {}
}
`,
    'src/classes/EmployeeEntity.ts': `import { EmployeeEntityBase, type CompanyEntity as Employer } from '../generated/api.js';
export class EmployeeEntity extends EmployeeEntityBase {
  fullName = '';
  async send(from: Employer): Promise<string> {
    return (from.fax ?? from.telex ?? this.fax) ?? '';
  }
}
`,
  });
  const users = userFolder(nodeDisk, project.folder, lookInto(nodeDisk, project.folder), new Set());
  const [same, company] = [modelOf(text), { from: 'Company', to: 'Company' }];
  const names = changedNames(same, same, {
    dataclasses: [
      { from: 'Company', to: 'Employee' },
      { from: 'Employee', to: 'Company' },
    ],
    attributes: [
      { dataclass: company, from: 'fax', to: 'telex' },
      { dataclass: company, from: 'telex', to: 'fax' },
    ],
    functions: [],
    singletons: [],
  });
  const { edits } = await renameInClasses({
    names,
    users,
    previous: userClasses(same, classNames(same)),
    paths: ['src/classes/CompanyEntity.ts', 'src/classes/EmployeeEntity.ts'],
    shown: (path) => path,
    files: {
      readFile: readFileSync,
      isFile: (path) => existsSync(path) && statSync(path).isFile(),
    },
  });
  expect(edits.map(({ path, from, text: after }) => [from, path, after])).toEqual([
    [
      'src/classes/CompanyEntity.ts',
      'src/classes/EmployeeEntity.ts',
      `import { EmployeeEntityBase, type CompanyEntity } from '../generated/api.js';
export class EmployeeEntity extends EmployeeEntityBase {
  async hire(person: CompanyEntity): Promise<CompanyEntity> {
    const { telex: fax, fax: telex } = this;
    this.ds.Employee.new({ telex: telex, fax: fax, name: person.fax });
    return person;
  }
  saving(): undefined {}
}
`,
    ],
    [
      'src/classes/EmployeeEntity.ts',
      'src/classes/CompanyEntity.ts',
      `import { CompanyEntityBase, type EmployeeEntity as Employer } from '../generated/api.js';
export class CompanyEntity extends CompanyEntityBase {
  fullName = '';
  async send(from: Employer): Promise<string> {
    return (from.telex ?? from.fax ?? this.fax) ?? '';
  }
}
`,
    ],
  ]);
});

it('A model without new names loads no compiler and reads no file of the user', async () => {
  const asked: string[] = [];
  const users: UserFolder = {
    root: '/',
    owns: () => false,
    read: (path) => {
      asked.push(path);
      return Promise.resolve({ kind: 'absent' });
    },
    list: (folder) => {
      asked.push(folder);
      return Promise.resolve([]);
    },
  };
  const files = { readFile: () => new Uint8Array(), isFile: () => false };
  const shown = (path: string): string => path;
  const same = modelOf(model({ fax: 'telefax' }));
  const input = { model: same, older: same, users, files, shown };
  expect(await lazyCompiler.renameClasses(input)).toMatchObject({ edits: [], problems: [] });
  expect(asked).toEqual([]);
});

itLong('Functions of every level are renamed together with their calls', async () => {
  const before = (names: readonly string[], from = ''): string => `drs: 1
name: functions
dataclasses:
  Company:
    attributes: { ID: { type: integer, key: true } }
    functions:
      dataclass: { ${names[0]}: { ${from && `renamedFrom: a1, `}returns: number } }
      selection: { ${names[1]}: { ${from && `renamedFrom: a2, `}returns: number } }
      entity: { ${names[2]}: { ${from && `renamedFrom: a3, `}returns: number } }
datastore:
  functions: { ${names[3]}: { ${from && `renamedFrom: a4, `}returns: number } }
singletons:
  Clock:
    functions: { ${names[4]}: { ${from && `renamedFrom: a5, `}returns: number } }
`;
  const code = ([a1 = '', a2 = '', a3 = '', a4 = '', a5 = '']: readonly string[]): Readonly<
    Record<string, string>
  > => ({
    'src/classes/Company.ts': `import { CompanyBase } from '../generated/api.js';
export class Company extends CompanyBase {
  ${a1}(): number {
    return 1;
  }
}
`,
    'src/classes/CompanySelection.ts': `import * as api from '../generated/api.js';
export class CompanySelection extends api.CompanySelectionBase {
  ${a2} = async (): Promise<number> => (await this.ds.${a4}()) + this.ds.Company.${a1}();
}
`,
    'src/classes/CompanyEntity.ts': `import { CompanyEntityBase } from '../generated/api.js';
class Middle extends CompanyEntityBase {
  override ${a3}(): number {
    return 3;
  }
}
export class CompanyEntity extends Middle {
  override ${a3}(): number {
    return super.${a3}();
  }
}
`,
    'src/classes/DataStore.ts': `import { DataStoreBase } from '../generated/api.js';
export class DataStore extends DataStoreBase {
  async ${a4}(): Promise<number> {
    const first = await this.Company.all().first();
    return (first?.${a3}() ?? 0) + (await this.Company.all().${a2}());
  }
}
`,
    'src/classes/Clock.ts': `import { ClockBase } from '../generated/api.js';
export class Clock extends ClockBase {
  ${a5}(): number {
    const a1 = { a2: 1 };
    return a1.a2;
  }
}
`,
  });
  const [old, fresh] = [
    ['a1', 'a2', 'a3', 'a4', 'a5'],
    ['b1', 'b2', 'b3', 'b4', 'b5'],
  ];
  const project = await projectOf(before(old), code(old));
  expectSound(project);
  const answer = await project.generate(before(fresh, 'a'));
  expect(answer.code).toBe(0);
  for (const [path, text] of Object.entries(code(fresh))) expect(project.read(path)).toBe(text);
  expect(project.errors).toEqual([]);
  expect(told(project, answer)).toEqual(['stub/old-name src/classes/Clock.ts:4 a2']);
});

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { lazyCompiler } from '../../generator/cli/compiler.js';
import { run } from '../../generator/cli/run.js';
import type { World } from '../../generator/cli/world.js';
import { nodeDisk } from '../../generator/output/node-disk.js';
import { typeErrors } from '../emitted/type-errors.js';
import { typedRuntime } from '../support/built-runtime.js';
import { packageRoot } from '../support/server.js';

/** Below the repository, so that servers find its packages. */
const scratch = join(packageRoot, '.tmp', 'renames');
mkdirSync(scratch, { recursive: true });
const folders: string[] = [];

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

interface Answer {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** A model and its server on the disk. */
class Project {
  readonly #home = mkdtempSync(join(scratch, 'server-'));

  constructor(private readonly runtimeFolder: string) {
    folders.push(this.#home);
  }

  static async of(model: string, files: Readonly<Record<string, string>> = {}): Promise<Project> {
    const project = new Project(await typedRuntime());
    expect(await project.generate(model)).toMatchObject({ code: 0 });
    for (const [path, text] of Object.entries(files)) project.write(path, text);
    return project;
  }

  async generate(model: string, ...options: readonly string[]): Promise<Answer> {
    writeFileSync(join(this.#home, 'model.yaml'), model);
    const printed = { out: '', err: '' };
    const stream = (name: 'out' | 'err') => ({
      write: (text: string) => {
        printed[name] += text;
      },
      isTTY: false,
    });
    const { runtimeFolder } = this;
    const world: World = {
      cwd: this.#home,
      env: {},
      stdout: stream('out'),
      stderr: stream('err'),
      host: { disk: nodeDisk, pid: 10, isAlive: () => false, pause: () => Promise.resolve() },
      onInterrupt: () => () => undefined,
      readFile: (path) => readFileSync(path),
      isFile: (path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true,
      package: { root: packageRoot, version: '1.0.0' },
      compiler: {
        ...lazyCompiler,
        emit: (value, input) => lazyCompiler.emit(value, { ...input, runtimeFolder }),
      },
    };
    const code = await run(['model.yaml', '-o', 'server', ...options], world);
    return { code, ...printed };
  }

  get folder(): string {
    return join(this.#home, 'server');
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.folder, path)), { recursive: true });
    writeFileSync(join(this.folder, path), text);
  }

  read(path: string): string {
    return readFileSync(join(this.folder, path), 'utf8');
  }

  has(path: string): boolean {
    return existsSync(join(this.folder, path));
  }

  remove(path: string): void {
    rmSync(join(this.folder, path), { recursive: true });
  }

  /** Texts of all files below a folder of the server, by their paths in it. */
  tree(folder = ''): Readonly<Record<string, string>> {
    const root = join(this.folder, folder);
    const files = readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((each) => each.isFile())
      .map((each) => join(each.parentPath, each.name));
    return Object.fromEntries(
      files.sort().map((file) => [file.slice(root.length), readFileSync(file, 'utf8')]),
    );
  }

  /** What the compiler says of it. */
  get errors(): readonly string[] {
    return typeErrors(this.folder);
  }
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

/** The same model under some other names, each with its `renamedFrom`. */
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

/** Lines with what was told of them. */
function told({ err }: Answer): readonly string[] {
  return err.split('\n').filter((line) => line.includes('  stub/'));
}

describe('an attribute that is renamed', () => {
  it('is renamed where the types tell, told where they do not, and left where it is another one', async () => {
    const project = await Project.of(model(), {
      'src/classes/EmployeeEntity.ts': employeeEntity,
      'src/classes/Employee.ts': employee,
    });
    expect(project.errors).toEqual([]);
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
    expect(told(answer)).toEqual([
      'server/src/classes/Employee.ts:19:13  warning  stub/old-name',
      'server/src/classes/EmployeeEntity.ts:31:66  warning  stub/old-name',
      'server/src/classes/EmployeeEntity.ts:35:11  warning  stub/old-name',
      'server/src/classes/EmployeeEntity.ts:35:35  warning  stub/old-name',
      'server/src/classes/EmployeeEntity.ts:36:59  warning  stub/old-name',
    ]);
    expect(answer.err).toContain('This may mean Employee.fax, which is telefax now.');
    expect(project.errors).toEqual([
      expect.stringContaining("EmployeeEntity.ts: Element implicitly has an 'any' type"),
    ]);
  });
});

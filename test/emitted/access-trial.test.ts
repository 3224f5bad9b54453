import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { emitServer } from '../../generator/emit/emit-server.js';
import { checkModel } from '../../generator/check/check-model.js';
import type { Model } from '../../generator/model/model.js';
import { accessTrial } from '../support/access-trial.js';
import { builtRuntime, runtimeOf } from '../support/built-runtime.js';
import { exampleFiles } from '../support/example-files.js';
import { isLong, itLong } from '../support/long.js';
import { modelFile } from '../support/model-file.js';
import { modelOf, packageRoot } from '../support/server.js';

function modelAt(path: string): Model {
  const folder = join(packageRoot, path, '..');
  const { value, problems } = checkModel({
    file: 'model.yaml',
    text: readFileSync(join(packageRoot, path), 'utf8'),
    readBeside: (name) => readFileSync(join(folder, name), 'utf8'),
  });
  if (value === undefined) throw new Error(JSON.stringify(problems));
  return value;
}

interface TriedOptions {
  readonly runtimeFolder?: string;
  readonly isFirstEnough?: boolean;
}

async function found(
  model: Model,
  written: Readonly<Record<string, string>> = {},
  options: TriedOptions = {},
): Promise<string[]> {
  const { deviations, unseeded } = await accessTrial(model, { written, ...options });
  expect(unseeded).toEqual([]);
  return Object.values(deviations).flat();
}

function emittedText(model: Model, path: string): string {
  const runtimeFolder = builtRuntime();
  const files = emitServer(model, { packageRoot, modelFileName: 'model.yaml', runtimeFolder });
  const found = files.find((each) => each.path === path);
  if (found === undefined) throw new Error(`There is no ${path}.`);
  return found.text;
}

/** Class code for the computed attributes of the model guarded.yaml. */
const setters: Readonly<Record<string, string>> = {
  'src/classes/EmployeeEntity.ts': `import { EmployeeEntityBase } from '../generated/api.js';
export class EmployeeEntity extends EmployeeEntityBase {
  get nickname(): string | null { return 'nick'; }
  set nickname(value: string | null) { void value; }
  get password(): string | null { return null; }
  set password(value: string | null) { void value; }
}
`,
};

/** A check that is removed from a server: a text of its runtime and the replacement. */
const faults: readonly (readonly [what: string, file: string, text: string, instead: string])[] = [
  [
    'attributes are read without their privileges',
    'dataclass/permissions.ts',
    'if (exposed === false) return false;',
    'if (exposed !== false) return true;',
  ],
  [
    'sessions that see less get the plans of those that see more',
    'http/served-model.ts',
    '`${commonBits(holder().held, read)} `',
    "'- '",
  ],
  [
    'everybody creates',
    'dataclass/permissions.ts',
    'return needed === undefined || may(holder().held, needed);',
    "return action === 'create' || needed === undefined || may(holder().held, needed);",
  ],
  [
    'whoever reads updates',
    'write/denials.ts',
    '!may(held, access?.update) ||',
    '!may(held, access?.read) ||',
  ],
  ['whoever reads deletes', 'http/route-checks.ts', "return 'drop';", "return 'read';"],
  [
    'values are taken away with their entities',
    'write/delete-statements.ts',
    'if (counts.length === 0) return undefined;',
    'if (counts.length >= 0) return undefined;',
  ],
  [
    'values are taken away by null',
    'write/denials.ts',
    'json === null && !may(',
    'json === undefined && !may(',
  ],
  [
    'a new entity reveals names of hidden aliases',
    'dataclass/permissions.ts',
    'if (!isNew || !isWritten(attribute))',
    'if (!isNew)',
  ],
  [
    'a dataclass that may not be read is read',
    'access/bits.ts',
    'if (!may(holder.held, needed))',
    "if (!may(holder.held, needed) && action !== 'read')",
  ],
  [
    'the catalog lists everything',
    'http/exposure.ts',
    'if (!definition.exposed || !isListed) return undefined;',
    'if (!definition.exposed) return undefined;',
  ],
];

describe('The access test of a server', () => {
  // The tests below try the others with class code.
  it.each([
    'test/golden/roles/model.yaml',
    ...(isLong ? ['test/support/models/access.yaml', 'test/support/models/guarded.yaml'] : []),
  ])('finds no fault in the server of %s', async (path) => {
    expect(await found(modelAt(path))).toEqual([]);
  });

  itLong('finds no fault in a server with names for clients', async () => {
    const text = readFileSync(join(packageRoot, 'test/support/models/access.yaml'), 'utf8')
      .replace('code: string', 'code: { type: string, restName: Code 1 }')
      .replace('salary: {', 'salary: { restName: Monthly pay €,')
      .replace('employer: {', 'employer: { restName: The employer,');
    expect(text.match(/restName/g)).toHaveLength(3);
    expect(await found(modelOf(text))).toEqual([]);
  });

  it.each(isLong ? ['staff', 'music'] : ['staff'])(
    'finds no fault in the server of the example %s with its class code',
    async (name) => {
      expect(await found(modelAt(`examples/${name}/model.yaml`), exampleFiles(name))).toEqual([]);
    },
  );

  itLong('finds no fault in the server of the example without its class code', async () => {
    expect(await found(modelAt('examples/staff/model.yaml'))).toEqual([]);
  });

  it('tests the setters of class code', async () => {
    const model = modelFile('guarded');
    if (isLong) expect(await found(model, setters)).toEqual([]);
    const file = 'src/generated/dataclasses/Employee.ts';
    const emitted = emittedText(model, file);
    const access = /(name: 'nickname',[^}]*access: )\{[^}]*\}/;
    expect(emitted).toMatch(access);
    const open = { ...setters, [file]: emitted.replace(access, '$1{}') };
    const deviations = await found(model, open, { isFirstEnough: true });
    expect(deviations.filter((each) => each.includes('nickname'))).not.toEqual([]);
  });

  it('finds that routes have lost their checks', async () => {
    const model = modelFile('guarded');
    const file = 'src/generated/routes/Employee.ts';
    const emitted = emittedText(model, file);
    const check = ', preHandler: allowWrite(access)';
    expect(emitted).toContain(check);
    const open = { ...setters, [file]: emitted.replaceAll(check, '') };
    const deviations = await found(model, open, { isFirstEnough: true });
    expect(deviations.filter((each) => each.includes('Employee'))).not.toEqual([]);
  });

  it.each(faults.filter((_, index) => isLong || index === 0))(
    'finds that %s',
    async (_what, file, text, instead) => {
      const source = readFileSync(join(packageRoot, 'runtime', file), 'utf8');
      expect(source).toContain(text);
      const runtimeFolder = await runtimeOf({ [file]: source.replace(text, () => instead) });
      const options = { runtimeFolder, isFirstEnough: true };
      const deviations = await found(modelFile('guarded'), setters, options);
      expect(deviations).not.toEqual([]);
    },
  );
});

/** Customers that are hidden from some users, and tracks with events. */
const shopText = `
drs: 1
name: shop
dataclasses:
  Customer:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: { type: string, mandatory: true }
      note: string
      agent: { to: Agent }
    restrict: true
  Agent:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      lastName: string
  Track:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: string
      lines: { to: Line, many: true, inverse: track }
    events: [saving, validateDrop]
  Line:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      note: string
      track: { to: Track, inverse: lines }
roles:
  restrictedByDefault: false
  privileges: [{ privilege: view }, { privilege: manage, includes: [view] }]
  permissions:
    allowed:
      - { applyTo: Customer, type: dataclass, read: [view], create: [manage], update: [view], drop: [manage] }
      - { applyTo: Customer.note, type: attribute, update: [manage] }
      - { applyTo: Track, type: dataclass, drop: [view] }
      - { applyTo: Line, type: dataclass, read: [manage] }
`;
const shop = modelOf(shopText);
const ofWrites = modelOf(shopText.replace('restrict: true', 'restrict: { writes: true }'));

/** @param filter filter of the customers that are visible without the privilege to manage */
function restricted(filter: string): Readonly<Record<string, string>> {
  return {
    'src/classes/Customer.ts': `
      import { CustomerBase, type Restriction, type Session } from '../generated/api.js';
      export class Customer extends CustomerBase {
        restrict(session: Session): Restriction {
          return session.hasPrivilege('manage') ? null : { filter: '${filter}', values: [session.userName] };
        }
      }`,
  };
}

const events = {
  'src/classes/TrackEntity.ts': `
    import { TrackEntityBase } from '../generated/api.js';
    export class TrackEntity extends TrackEntityBase {
      saving(): void { Reflect.set(globalThis, 'hasMailed', true); }
      validateDrop(): void { Reflect.set(globalThis, 'hasMailed', true); }
    }`,
};

/** Faults as in `faults`, for servers with class code. */
const classFaults: typeof faults = [
  [
    'values are changed by everybody',
    'write/denials.ts',
    '!may(held, access?.update) ||',
    '!may(held, access?.create) ||',
  ],
  [
    'a deletion is refused which is allowed',
    'access/bits.ts',
    'if (!may(holder.held, needed))',
    "if (action === 'drop' || !may(holder.held, needed))",
  ],
  [
    'a session stores what it does not see',
    'write/store.ts',
    'restrictions.hidesSome(this.dataclass.name)',
    'false',
  ],
];

describe('The access test of a server with class code', () => {
  it.each([
    ...(isLong
      ? ([
          ['agent.lastName = :1', shop],
          ['ID = 2', shop],
          ['ID = 1', shop],
        ] as const)
      : []),
    ['agent.ID = 1', ofWrites],
  ] as const)(
    'accepts that restrict hides all but customers of %s, and runs no events, which may send mails',
    async (filter, model) => {
      expect(await found(model, { ...restricted(filter), ...events })).toEqual([]);
      expect(Reflect.get(globalThis, 'hasMailed')).toBeUndefined();
    },
  );

  itLong.each(classFaults)('finds that %s', async (_what, file, text, instead) => {
    const source = readFileSync(join(packageRoot, 'runtime', file), 'utf8');
    expect(source).toContain(text);
    const runtimeFolder = await runtimeOf({ [file]: source.replace(text, instead) });
    const written = { ...restricted('agent.ID = 1'), ...events };
    const deviations = await found(ofWrites, written, { runtimeFolder });
    expect(deviations.join()).toMatch(/method=(update|delete)/);
  });
});

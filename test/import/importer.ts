import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { checkModel, type CheckedModel } from '../../generator/check/check-model.js';
import { lazyCompiler } from '../../generator/cli/compiler.js';
import { run } from '../../generator/cli/program.js';
import type { World } from '../../generator/cli/world.js';
import type { Note } from '../../generator/import/messages.js';
import { nodeDisk } from '../../generator/output/node-disk.js';

export interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** A folder with a source, and the command line there. */
export interface Workplace {
  readonly folder: string;
  /** Writes a file of the source. */
  put(path: string, content: string | Uint8Array): void;
  text(path: string): string;
  has(path: string): boolean;
  /** Relative paths of all files. */
  files(): readonly string[];
  /** Runs `drs-gen import …`. */
  import(...argv: readonly string[]): Promise<Run>;
}

/** A workplace that is gone after the test that calls this. */
export function workplace(): Workplace {
  const folder = mkdtempSync(join(tmpdir(), 'drs-import-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  const at = (path: string): string => join(folder, path);
  return {
    folder,
    put: (path, content) => {
      mkdirSync(dirname(at(path)), { recursive: true });
      writeFileSync(at(path), content);
    },
    text: (path) => readFileSync(at(path), 'utf8'),
    has: (path) => existsSync(at(path)),
    files: () =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((path) => statSync(at(path)).isFile())
        .sort(),
    import: (...argv) => runIn(folder, ['import', ...argv]),
  };
}

export async function runIn(
  cwd: string,
  argv: readonly string[],
  env: World['env'] = {},
): Promise<Run> {
  const printed = { out: '', err: '' };
  const stream = (name: 'out' | 'err'): World['stdout'] => ({
    write: (text) => {
      printed[name] += text;
    },
    isTTY: false,
  });
  const code = await run(argv, {
    cwd,
    env,
    stdout: stream('out'),
    stderr: stream('err'),
    host: {
      disk: nodeDisk,
      pid: process.pid,
      isAlive: () => false,
      pause: () => Promise.resolve(),
    },
    onInterrupt: () => () => undefined,
    readFile: (path) => readFileSync(path),
    isFile: (path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true,
    git: () => undefined,
    start: () => {
      throw new Error('An import runs no programs.');
    },
    package: { root: fileURLToPath(new URL('../..', import.meta.url)), version: '1.2.3' },
    compiler: lazyCompiler,
  });
  return { code, ...printed };
}

/** A model file as plain values, after the real check has found no error in it. */
export interface ImportedModel {
  readonly dataclasses: Readonly<Record<string, ImportedDataclass>>;
  readonly checked: CheckedModel;
  readonly [key: string]: unknown;
}

interface ImportedDataclass {
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly [key: string]: unknown;
}

export interface Imported extends Run {
  readonly model: ImportedModel;
  readonly notes: readonly Note[];
  /** Places and messages of a code. */
  told(code: string): readonly string[];
}

/** Imports with `--json`; the import must succeed, and its model must pass the check. */
export async function imported(place: Workplace, ...argv: readonly string[]): Promise<Imported> {
  const done = await place.import(...argv, '--json');
  if (done.code !== 0) throw new Error(`exit ${String(done.code)}\n${done.err}${done.out}`);
  const { notes } = JSON.parse(done.out) as { notes: readonly Note[] };
  const text = place.text('model.yaml');
  const checked = checkModel({
    file: 'model.yaml',
    text,
    readBeside: (path) => (place.has(path) ? place.text(path) : undefined),
  });
  const errors = checked.problems.filter(({ severity }) => severity === 'error');
  if (errors.length > 0) throw new Error(JSON.stringify(errors, null, 2));
  const model = { ...(parse(text) as Omit<ImportedModel, 'checked'>), checked } as ImportedModel;
  const told = (code: string): readonly string[] =>
    notes.flatMap((each) =>
      each.code === `import/${code}` ? [`${each.place}: ${each.message}`] : [],
    );
  return { ...done, model, notes, told };
}

/** The attributes of a dataclass. */
export function attributesOf(
  { model }: Imported,
  dataclass: string,
): ImportedDataclass['attributes'] {
  const found = model.dataclasses[dataclass];
  if (found === undefined)
    throw new Error(`no ${dataclass} in ${Object.keys(model.dataclasses).join(', ')}`);
  return found.attributes;
}

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { run } from './command.js';
import { copyDatabase, filledDatabase } from './databases.js';
import { beTheOnlyOne } from './only-one.js';
import type { DatabaseKind } from './options.js';
import { compiler, compilerPath, root, typescript, work } from './places.js';
import { type Place, Server } from './server.js';
import { type VariantName, variants } from './variants.js';

/**
 * Generates and compiles the server of a variant, in `.tmp/bench/<variant>`.
 * @param before a built checkout of another version, whose server is compiled in
 *   `.tmp/bench/before-<variant>`
 * @returns the file that Node runs
 */
export function compileServer(
  name: VariantName,
  before?: string,
  database: DatabaseKind = 'sqlite',
): string {
  beTheOnlyOne();
  const variant = variants[name];
  const own = database === 'sqlite' ? name : `${database}-${name}`;
  const project = join(work, before === undefined ? own : `before-${own}`);
  const model = `${project}.yaml`;
  mkdirSync(work, { recursive: true });
  const text = readFileSync(join(root, 'test/bench/model.yaml'), 'utf8');
  const of = text.replace('\nname: bench\n', `\nname: bench\ndatabase: ${database}\n`);
  writeFileSync(model, of + variant.model);
  const program = before === undefined ? compiler : resolve(before, compilerPath);
  return compileProject(model, project, program, variant.files);
}

/**
 * Generates the server of a model file in a new folder, and compiles it.
 * @param files of the user, by their path in the project
 * @returns the file that Node runs
 */
export function compileProject(
  model: string,
  project: string,
  program = compiler,
  files: Readonly<Record<string, string>> = {},
): string {
  rmSync(project, { recursive: true, force: true });
  run(process.execPath, [program, model, '-o', project], { cwd: root });
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(project, path)), { recursive: true });
    writeFileSync(join(project, path), content);
  }
  run(process.execPath, [typescript, '-p', project], { cwd: root });
  return join(project, 'dist/src/main.js');
}

/**
 * Generates, compiles and starts the server of a variant on a filled database of its own, for the
 * scripts of this folder that measure only the generated server; `measure.ts` sends the load.
 */
export async function startGenerated(
  options: {
    readonly variant?: VariantName;
    /** Employees in the database. */
    readonly rows?: number;
    readonly env?: Readonly<Record<string, string>>;
  } & Place = {},
): Promise<Server> {
  const { variant = 'plain', rows = 100_000, env = {}, ...place } = options;
  const script = compileServer(variant);
  const database = copyDatabase(await filledDatabase(script, rows), `alone-${variant}`);
  return Server.start({ name: variant, script, database, env }, place);
}

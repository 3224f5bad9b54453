import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import ts from 'typescript';
import { vi } from 'vitest';

const readers = 'dialect/sqlite/readers';

interface CostModule {
  readonly StatementCost: {
    readonly prototype: { isAway(now: number): boolean; took(...told: unknown[]): void };
  };
}

/**
 * Has the server in a folder run every read in another process that it would measure at all, however short it is. Such a
 * process is a program of its own: what it is made of is compiled to a folder beside the source.
 * @returns how often that happened, so far
 */
export async function forceReaders(server: string): Promise<() => number> {
  const runtime = join(server, 'src/runtime');
  const program = join(server, 'reader');
  compile(runtime, program, `${readers}/reader-process`, new Set());
  // Tests import the source: JavaScript beside it would be taken in its place, but for what nobody imports.
  const main = pathToFileURL(join(program, readers, 'reader-process.js')).href;
  writeFileSync(join(runtime, readers, 'reader-process.js'), `import ${JSON.stringify(main)};\n`);
  const url = pathToFileURL(join(runtime, readers, 'statement-cost.ts')).href;
  const { StatementCost } = (await import(/* @vite-ignore */ url)) as CostModule;
  vi.spyOn(StatementCost.prototype, 'isAway').mockReturnValue(true);
  const took = vi.spyOn(StatementCost.prototype, 'took');
  return () => took.mock.calls.length;
}

/** Compiles a module and all that it imports. */
function compile(from: string, to: string, name: string, done: Set<string>): void {
  if (done.has(name)) return;
  done.add(name);
  const { outputText } = ts.transpileModule(readFileSync(join(from, `${name}.ts`), 'utf8'), {
    compilerOptions: { target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.ESNext },
  });
  const file = join(to, `${name}.js`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, outputText);
  for (const [, imported = ''] of outputText.matchAll(/from '(\.[^']+)\.js'/g)) {
    compile(from, to, join(dirname(name), imported), done);
  }
}

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import ts from 'typescript';

export const readers = 'dialect/sqlite/readers';

/**
 * Compiles the program of the processes that a generated server lets read, to a folder beside its source: tests import the
 * source, and Node runs JavaScript alone.
 * @param server folder of the server
 */
export function compileReader(server: string): void {
  const runtime = join(server, 'src/runtime');
  const script = join(runtime, readers, 'reader-process.js');
  if (existsSync(script) || !existsSync(join(runtime, readers))) return;
  const program = join(server, 'reader');
  compile(runtime, program, `${readers}/reader-process`, new Set());
  // JavaScript beside the source would be taken in its place, but for what nobody imports.
  const main = pathToFileURL(join(program, readers, 'reader-process.js')).href;
  writeFileSync(script, `import ${JSON.stringify(main)};\n`);
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

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import ts from 'typescript';

export const readers = 'dialect/sqlite/readers';

/**
 * Compiles the program of the processes that a generated server lets read, to a folder beside the runtime's: tests import the
 * source, and Node runs JavaScript alone.
 * @param runtime folder of the runtime's source
 */
export function compileReader(runtime: string): void {
  if (!existsSync(join(runtime, readers))) return;
  const program = join(dirname(runtime), 'reader');
  compile(runtime, program, `${readers}/reader-process`, new Set());
  // JavaScript beside the source would be taken in its place, but for what nobody imports.
  const main = relative(join(runtime, readers), join(program, readers)).split(sep).join('/');
  writeFileSync(
    join(runtime, readers, 'reader-process.js'),
    `import ${JSON.stringify(`${main}/reader-process.js`)};\n`,
  );
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

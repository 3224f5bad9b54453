import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import ts from 'typescript';
import { expect, it } from 'vitest';
import { staffClient, staffModel, staffServer } from '../support/staff-example.js';
import { writeClient } from '../support/built-client.js';
import { packageRoot } from '../support/server.js';
import { blocksOf } from './guides.js';

const blocks = blocksOf('ts', 'runtime/docs/client.md');

/** All blocks of the guide as one program. */
const program = `import { connect, RestError } from './client.js';
export async function guide(console: { readonly log: (...values: readonly unknown[]) => void }): Promise<void> {
${blocks.map(({ text }) => text).join('\n')}
}
`;

it('The code of the guide of clients compiles, and runs on the server of the example', async () => {
  expect(blocks.length).toBeGreaterThan(5);
  expect(blocks.every(({ words }) => words.join() === 'client')).toBe(true);
  const folder = await writeClient(staffModel);
  const file = join(folder, 'guide.ts');
  writeFileSync(file, program);
  const options: ts.CompilerOptions = {
    strict: true,
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    lib: ['lib.es2023.d.ts', 'lib.dom.d.ts'],
    types: [],
    noEmit: true,
  };
  const compiled = ts.createProgram([file], options);
  const errors = compiled
    .getSemanticDiagnostics(compiled.getSourceFile(file))
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
  expect(errors).toEqual([]);

  const { app, url } = await staffServer();
  try {
    const { connect } = await staffClient();
    const mia = connect(url);
    await mia.session.login('mia', 'example');
    const data = JSON.parse(
      readFileSync(join(packageRoot, 'examples/staff/data.json'), 'utf8'),
    ) as { Company: readonly Parameters<typeof mia.Company.new>[0][] };
    await mia.atomic(data.Company.map((values) => mia.Company.new(values)));

    const code = ts.transpile(program.replace('https://api.example.com', url), {
      ...options,
      noEmit: false,
    });
    // The address of the server differs from run to run.
    const module = join(folder, `guide-${String(process.pid)}.js`);
    writeFileSync(module, code);
    const { guide } = (await import(pathToFileURL(module).href)) as {
      guide: (console: { log: (...values: readonly unknown[]) => void }) => Promise<void>;
    };
    const printed: (readonly unknown[])[] = [];
    await guide({ log: (...values) => printed.push(values) });
    expect(printed[0]).toEqual(['mia', true]);
    expect(printed.at(-1)?.slice(0, 2)).toEqual([422, 'email']);
    expect((await mia.Company.get(1))?.city).toBe('Nice');
  } finally {
    await app.close();
  }
});

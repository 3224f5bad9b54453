import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { typeErrors } from '../emitted/type-errors.js';
import { emitServer } from '../../generator/emit/emit-server.js';
import { modelOf, packageRoot, writeServer } from '../support/server.js';
import { writeFiles } from '../support/written-server.js';

/** What users write; a line that must not compile has `@ts-expect-error` above it. */
const filled = join(packageRoot, 'test/types/filled');
const model = readFileSync(join(packageRoot, 'test/check/models/complete.yaml'), 'utf8');
const folder = join(packageRoot, '.tmp', `class-api-${String(process.pid)}`);

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

it('class code is typed by the model', () => {
  cpSync(writeServer(modelOf(model)), folder, { recursive: true });
  const stubs = readdirSync(join(folder, 'src/classes')).sort();
  const files = readdirSync(filled).map((name) => name.replace(/\.txt$/, ''));
  expect(files.sort()).toEqual(stubs);
  for (const name of files) {
    const text = readFileSync(join(filled, `${name}.txt`), 'utf8');
    writeFileSync(join(folder, 'src/classes', name), text);
  }
  expect(typeErrors(folder, (file) => !file.includes('/src/runtime/'))).toEqual([]);
});

it('class code compiles where it was moved to', () => {
  const stubs = 'src/classes/';
  const input = { packageRoot, modelFileName: 'model.yaml' };
  const moved = emitServer(modelOf(model), input)
    .filter(({ path }) => path.startsWith(stubs))
    .map(({ path, text }) => ({
      name: path.slice(stubs.length, -3),
      path: `src/domain/${path.slice(stubs.length, -3)}/${path.slice(stubs.length)}`,
      text: text.replace('../generated/', '../../generated/'),
    }));
  const classFiles = new Map(moved.map(({ name, path }) => [name, path]));
  const files = emitServer(modelOf(model), { ...input, classFiles });
  expect(files.filter(({ path }) => path.startsWith(stubs))).toEqual([]);
  expect(moved.length).toBeGreaterThan(5);
  const server = writeFiles(join(packageRoot, '.tmp'), [...files, ...moved]);
  expect(typeErrors(server, (file) => !file.includes('/src/runtime/'))).toEqual([]);
});

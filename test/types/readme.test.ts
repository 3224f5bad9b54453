import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { typeErrors } from '../emitted/type-errors.js';
import { typedRuntime } from '../support/built-runtime.js';
import { modelOf, packageRoot, writeServer } from '../support/server.js';

const example = join(packageRoot, 'examples/staff');
const folder = join(packageRoot, '.tmp', `readme-${String(process.pid)}`);

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** What stands first in a section of the README between lines of three backticks. */
function exampleOf(heading: string): string {
  const readme = readFileSync(join(packageRoot, 'README.md'), 'utf8');
  const [, section = ''] = readme.split(`\n### ${heading}\n`);
  const [, code = ''] = /```ts\n([\s\S]*?)```/.exec(section) ?? [];
  return code;
}

it('the example of class code compiles in the server of the example', async () => {
  const model = modelOf(readFileSync(join(example, 'model.yaml'), 'utf8'));
  cpSync(writeServer(model, {}, await typedRuntime()), folder, { recursive: true });
  const classes = join(example, 'server/src/classes');
  for (const name of readdirSync(classes)) {
    cpSync(join(classes, name), join(folder, 'src/classes', name));
  }
  const code = exampleOf('Class code');
  expect(code).toContain('this.ds.Company.get(7)');
  writeFileSync(
    join(folder, 'src/classes/Readme.ts'),
    `import { CompanyBase, RestError } from '../generated/api.js';
    export abstract class Readme extends CompanyBase {
      async example(bytes: Uint8Array): Promise<void> {
        ${code}
      }
    }`,
  );
  expect(typeErrors(folder)).toEqual([]);
});

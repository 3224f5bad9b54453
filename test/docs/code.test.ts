import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { typeErrors } from '../support/type-errors.js';
import { typedRuntime } from '../support/built-runtime.js';
import { modelOf, packageRoot, writeServer } from '../support/server.js';
import { blocksOf, placeOf, readDocument, type Block } from './guides.js';

const example = join(packageRoot, 'examples/staff');
const folder = join(packageRoot, '.tmp', `guides-${String(process.pid)}`);

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/**
 * The blocks of the cookbook and of jobs belong to other servers (`recipes.test.ts`,
 * `jobs-guide.test.ts`), those of clients to no server (`client-guide.test.ts`).
 */
const others = ['cookbook', 'jobs', 'client'].map((name) => `runtime/docs/${name}.md`);
const blocks = blocksOf('ts').filter(({ path }) => !others.includes(path));
/** A block that begins with `// examples/staff/server/…` is an excerpt of that file. */
const excerpts = blocks.filter(({ text }) => text.startsWith('// examples/'));
const programs = blocks.filter((block) => !excerpts.includes(block));

/** The file of the example that a block is from, and the excerpt. */
function excerptOf({ text }: Block): { readonly file: string; readonly code: string } {
  const [comment = '', ...lines] = text.split('\n');
  return { file: comment.replace('// ', ''), code: lines.join('\n') };
}

describe('An excerpt', () => {
  it.each(excerpts.map((block) => [placeOf(block), block] as const))(
    'exists in its file: %s',
    (_place, block) => {
      const { file, code } = excerptOf(block);
      expect(code.trim().length).toBeGreaterThan(20);
      expect(readDocument(file)).toContain(code);
    },
  );
});

/** The imports of a method body from `api.ts`. */
const names = ['OutgoingMessage', 'RestError'];

/** The path that a block names, or the block that imports generated code like `src/main.ts`. */
function fileOf({ text }: Block): string | undefined {
  const named = /^\/\/ ((?:src|test)\/\S+\.ts)\n/.exec(text)?.[1];
  return named ?? (text.includes("'./generated/") ? 'src/main.ts' : undefined);
}

/** A block as a file of the example's `src/guides`. */
function programOf({ words: [part], text }: Block): string {
  switch (part) {
    case undefined:
      return text;
    case 'method': {
      const used = ['CompanyBase', ...names.filter((name) => text.includes(`new ${name}(`))];
      return `import { ${used.join(', ')} } from '../generated/api.js';
        export abstract class Guide extends CompanyBase {
          async example(bytes: Uint8Array): Promise<unknown> {
            ${text}
            return bytes;
          }
        }`;
    }
    default:
      throw new Error(`${part} is no part of a program: use method, or nothing for a whole file.`);
  }
}

it('The TypeScript of the guides compiles in the server of the example', async () => {
  const model = modelOf(readFileSync(join(example, 'model.yaml'), 'utf8'));
  cpSync(writeServer(model, {}, await typedRuntime()), folder, { recursive: true });
  const classes = join(example, 'server/src/classes');
  for (const name of readdirSync(classes)) {
    cpSync(join(classes, name), join(folder, 'src/classes', name));
  }
  await mkdir(join(folder, 'src/guides'));
  expect(programs.length).toBeGreaterThan(2);
  const places = programs.map((block, index) => {
    const file = fileOf(block) ?? `src/guides/block${String(index)}.ts`;
    writeFileSync(join(folder, file), programOf(block));
    return `${file} is ${placeOf(block)}`;
  });
  expect(typeErrors(folder, { allowUnreachableCode: true }), places.join('\n')).toEqual([]);
});

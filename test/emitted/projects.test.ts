import { readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative } from 'node:path';
import { ESLint } from 'eslint';
import { defineConfig } from 'eslint/config';
import { check } from 'prettier';
import tseslint from 'typescript-eslint';
import { beforeAll, describe, expect, it } from 'vitest';
import { typedRuntime } from '../support/built-runtime.js';
import { modelFile } from '../support/model-file.js';
import { packageRoot, modelOf, writeServer } from '../support/server.js';
import { typeErrors } from './type-errors.js';

const manifest: unknown = JSON.parse(readFileSync('package.json', 'utf8'));
const { prettier: prettierOptions } = manifest as { readonly prettier: object };

const formatted: ReadonlySet<string> = new Set(['.ts', '.json', '.yml', '.yaml']);

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map((each) => join(each.parentPath, each.name))
    .sort();
}

/** The type-checked recommendations of typescript-eslint, and some strict rules. */
async function lintProblems(folder: string, sources: readonly string[]): Promise<string[]> {
  const eslint = new ESLint({
    cwd: folder,
    overrideConfigFile: true,
    overrideConfig: defineConfig([
      ...tseslint.configs.recommendedTypeChecked,
      {
        languageOptions: {
          parserOptions: { project: './tsconfig.json', tsconfigRootDir: folder },
        },
        linterOptions: { reportUnusedDisableDirectives: 'error' },
      },
    ]),
  });
  const results = await eslint.lintFiles([...sources]);
  expect(results.length).toBeGreaterThan(10);
  return results.flatMap((result) =>
    result.messages.map(
      ({ line, ruleId, message }) =>
        `${relative(folder, result.filePath)}:${line} ${String(ruleId)} ${message}`,
    ),
  );
}

const everything = readFileSync(join(packageRoot, 'test/check/models/complete.yaml'), 'utf8');

/** The same model for other databases. */
function on(databases: string): string {
  return everything.replace(/^name:/m, `database: ${databases}\nname:`);
}

describe.each([
  { name: 'staff', model: () => modelFile('staff') },
  { name: 'names', model: () => modelFile('names') },
  { name: 'class-names', model: () => modelFile('class-names') },
  { name: 'complete', model: () => modelOf(on('sqlite')) },
  { name: 'complete, on PostgreSQL', model: () => modelOf(on('postgres')) },
  { name: 'complete, on both databases', model: () => modelOf(on('[sqlite, postgres]')) },
])('The server of the model $name', ({ model }) => {
  let folder: string;
  /** Without the runtime, which is compiled already. */
  let files: readonly string[];

  beforeAll(async () => {
    folder = writeServer(model(), {}, await typedRuntime());
    files = filesBelow(folder).filter((file) => !file.startsWith(join(folder, 'runtime')));
  });

  it('passes the compiler with its own settings', () => {
    expect(typeErrors(folder)).toEqual([]);
  });

  it('has a runtime whose types compile on their own', () => {
    const errors = typeErrors(folder, { skipLibCheck: false }, (file) => file.includes('runtime'));
    expect(errors).toEqual([]);
  });

  it('is formatted as prettier would', async () => {
    const wrong: string[] = [];
    const texts = files.filter((file) => formatted.has(extname(file)));
    expect(texts.length).toBeGreaterThan(10);
    for (const file of texts) {
      const text = readFileSync(file, 'utf8');
      if (!(await check(text, { ...prettierOptions, filepath: file }))) {
        wrong.push(relative(folder, file));
      }
    }
    expect(wrong).toEqual([]);
  });

  it('passes the linter, with no rule disabled', async () => {
    expect(await lintProblems(folder, ['src/**/*.ts', 'test/**/*.ts'])).toEqual([]);
    for (const file of files) {
      expect(readFileSync(file, 'utf8'), file).not.toMatch(
        /eslint-disable|@ts-(?:ignore|expect-error|nocheck)|prettier-ignore/,
      );
    }
  });

  it('contains nothing of the generator', () => {
    for (const file of files.filter((each) => each.includes('/src/'))) {
      expect(readFileSync(file, 'utf8'), file).not.toMatch(/from '(?:drs-gen|\.\.\/.*generator\/)/);
    }
  });
});

import { readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative } from 'node:path';
import { ESLint } from 'eslint';
import { defineConfig } from 'eslint/config';
import { check } from 'prettier';
import type ts from 'typescript';
import tseslint from 'typescript-eslint';
import { beforeAll, describe, expect, it } from 'vitest';
import { typedRuntime } from '../support/built-runtime.js';
import { modelFile } from '../support/model-file.js';
import { packageRoot, modelOf, writeServer } from '../support/server.js';
import { errorsOf, programOf } from '../support/type-errors.js';
import { isLong } from '../support/long.js';

const manifest: unknown = JSON.parse(readFileSync('package.json', 'utf8'));
const { prettier: prettierOptions } = manifest as { readonly prettier: object };

const formatted: ReadonlySet<string> = new Set(['.ts', '.json', '.yml', '.yaml']);

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map((each) => join(each.parentPath, each.name))
    .sort();
}

/** What typescript-eslint recommends where types are known, and what a strict reader asks for. */
async function lintProblems(
  folder: string,
  program: ts.Program,
  sources: readonly string[],
): Promise<string[]> {
  const eslint = new ESLint({
    cwd: folder,
    overrideConfigFile: true,
    overrideConfig: defineConfig([
      ...tseslint.configs.recommendedTypeChecked,
      {
        languageOptions: {
          parserOptions: { programs: [program], tsconfigRootDir: folder },
        },
        linterOptions: { reportUnusedDisableDirectives: 'error' },
      },
      {
        // A plugin of Fastify is asynchronous, whether it awaits something or not.
        files: ['src/generated/routes/*.ts', 'src/generated/function-routes.ts'],
        rules: { '@typescript-eslint/require-await': 'off' },
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

const everything = readFileSync(join(packageRoot, 'test/support/models/complete.yaml'), 'utf8');

/** The model for other databases. */
function on(databases: string): string {
  return everything.replace(/^name:/m, `database: ${databases}\nname:`);
}

const projects = [
  { name: 'staff', model: () => modelFile('staff') },
  { name: 'names', model: () => modelFile('names') },
  { name: 'class-names', model: () => modelFile('class-names') },
  { name: 'complete', model: () => modelOf(on('sqlite')) },
  { name: 'complete, on PostgreSQL', model: () => modelOf(on('postgres')) },
  { name: 'complete, on both databases', model: () => modelOf(on('[sqlite, postgres]')) },
];

describe.each(projects.filter((_, index) => isLong || index === 3))(
  'The server of the model $name',
  ({ model }) => {
    let folder: string;
    /** Without the runtime, which is compiled already. */
    let files: readonly string[];
    let program: ts.Program;

    beforeAll(async () => {
      folder = writeServer(model(), {}, await typedRuntime());
      // The server's own settings, which let declarations be, but for that of the runtime.
      program = programOf(folder, { skipLibCheck: false });
      files = filesBelow(folder).filter((file) => !file.startsWith(join(folder, 'runtime')));
    });

    it('passes the compiler with its own settings', () => {
      const own = new Set(files);
      expect(own.has(join(folder, 'src/main.ts'))).toBe(true);
      expect(errorsOf(folder, program, (file) => own.has(file))).toEqual([]);
    });

    it('has a runtime whose types are right by themselves', () => {
      const isOfRuntime = (file: string): boolean => file.includes('/runtime/');
      expect(program.getSourceFiles().some(({ fileName }) => isOfRuntime(fileName))).toBe(true);
      expect(errorsOf(folder, program, isOfRuntime)).toEqual([]);
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

    it('passes the linter, with nothing switched off', async () => {
      expect(await lintProblems(folder, program, ['src/**/*.ts', 'test/**/*.ts'])).toEqual([]);
      for (const file of files) {
        expect(readFileSync(file, 'utf8'), file).not.toMatch(
          /eslint-disable|@ts-(?:ignore|expect-error|nocheck)|prettier-ignore/,
        );
      }
    });

    it('contains nothing of the generator', () => {
      for (const file of files.filter((each) => each.includes('/src/'))) {
        expect(readFileSync(file, 'utf8'), file).not.toMatch(
          /from '(?:drs-gen|\.\.\/.*generator\/)/,
        );
      }
    });
  },
);

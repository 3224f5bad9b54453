import { readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative } from 'node:path';
import { ESLint } from 'eslint';
import { defineConfig } from 'eslint/config';
import { check } from 'prettier';
import tseslint from 'typescript-eslint';
import ts from 'typescript';
import { beforeAll, describe, expect, it } from 'vitest';
import { modelFile } from '../support/model-file.js';
import { writeServer } from '../support/server.js';

const manifest: unknown = JSON.parse(readFileSync('package.json', 'utf8'));
const { prettier: prettierOptions } = manifest as { readonly prettier: object };

const formatted: ReadonlySet<string> = new Set(['.ts', '.json', '.yml', '.yaml']);

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map((each) => join(each.parentPath, each.name))
    .sort();
}

/** Errors of the TypeScript compiler, with the project's own settings. */
function typeErrors(folder: string): string[] {
  const path = join(folder, 'tsconfig.json');
  const config = ts.getParsedCommandLineOfConfigFile(
    path,
    { noEmit: true },
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: (problem) => {
        throw new Error(ts.flattenDiagnosticMessageText(problem.messageText, '\n'));
      },
    },
  );
  if (config === undefined) throw new Error(`${path} cannot be read.`);
  const program = ts.createProgram(config.fileNames, config.options);
  return [...config.errors, ...ts.getPreEmitDiagnostics(program)].map((problem) => {
    const text = ts.flattenDiagnosticMessageText(problem.messageText, '\n');
    return `${relative(folder, problem.file?.fileName ?? path)}: ${text}`;
  });
}

/** What typescript-eslint recommends where types are known, and what a strict reader asks for. */
async function lintProblems(folder: string): Promise<string[]> {
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
  const results = await eslint.lintFiles(['src/**/*.ts']);
  expect(results.length).toBeGreaterThan(20);
  return results.flatMap((result) =>
    result.messages.map(
      ({ line, ruleId, message }) =>
        `${relative(folder, result.filePath)}:${line} ${String(ruleId)} ${message}`,
    ),
  );
}

describe.each(['staff', 'names'])('the server of the model %s', (name) => {
  let folder: string;
  let files: readonly string[];

  beforeAll(() => {
    folder = writeServer(modelFile(name));
    files = filesBelow(folder);
  });

  it('passes the compiler with its own settings', () => {
    expect(typeErrors(folder)).toEqual([]);
  });

  it('is formatted', async () => {
    const wrong: string[] = [];
    const texts = files.filter((file) => formatted.has(extname(file)));
    expect(texts.length).toBeGreaterThan(50);
    for (const file of texts) {
      const text = readFileSync(file, 'utf8');
      if (!(await check(text, { ...prettierOptions, filepath: file }))) {
        wrong.push(relative(folder, file));
      }
    }
    expect(wrong).toEqual([]);
  });

  it('passes the linter, with nothing switched off', async () => {
    expect(await lintProblems(folder)).toEqual([]);
    for (const file of files) {
      expect(readFileSync(file, 'utf8'), file).not.toMatch(
        /eslint-disable|@ts-(?:ignore|expect-error|nocheck)|prettier-ignore/,
      );
    }
  });

  it('has nothing of the generator', () => {
    for (const file of files.filter((each) => each.includes('/src/'))) {
      expect(readFileSync(file, 'utf8'), file).not.toMatch(/from '(?:drs-gen|\.\.\/.*generator\/)/);
    }
  });
});

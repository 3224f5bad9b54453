import { join, resolve } from 'node:path';

/** Root of the package; this file runs from `.tmp/bench/dist`. */
export const root = resolve(import.meta.dirname, '../../..');
/** The folder of all files that the bench creates. */
export const work = join(root, '.tmp/bench');
/** In a checkout. */
export const compilerPath = 'dist/generator/cli/main.js';
export const compiler = join(root, compilerPath);
export const typescript = join(root, 'node_modules/typescript/bin/tsc');
export const tsx = join(root, 'node_modules/tsx/dist/cli.mjs');

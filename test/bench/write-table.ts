/**
 * Writes the results of the last runs into README.md of this folder, a table for each version of
 * Node, and copies their figures and pictures to `results/`.
 *
 *   npm run bench:table
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { markdown } from './markdown.js';
import { root } from './places.js';
import { keepResults } from './result.js';

const begin = '<!-- bench -->';
const end = '<!-- /bench -->';

const results = keepResults();
if (results.length === 0) {
  console.error('There are no results yet: run npm run bench first.');
  process.exit(1);
}
const file = join(root, 'test/bench/README.md');
const [before, rest] = split(readFileSync(file, 'utf8'), begin);
const [, after] = split(rest, end);
writeFileSync(file, `${before}${begin}\n${results.map(markdown).join('\n')}${end}${after}`);

function split(text: string, mark: string): readonly [string, string] {
  const at = text.indexOf(mark);
  if (at < 0) throw new Error(`test/bench/README.md has no ${mark}, where the tables belong.`);
  return [text.slice(0, at), text.slice(at + mark.length)];
}

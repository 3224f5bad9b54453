import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../support/server.js';

/** A fenced block of code. */
export interface Block {
  /** Path of the document, from the root of the package. */
  readonly path: string;
  readonly line: number;
  /** The word after the three backticks: `yaml`, `ts`, … */
  readonly language: string;
  /** Further words there, which pages do not show: they tell a test how to use a fragment. */
  readonly words: readonly string[];
  readonly text: string;
}

/** README, CONTRIBUTING and all guides. */
export const documents: readonly string[] = [
  'README.md',
  'CONTRIBUTING.md',
  'test/README.md',
  'test/bench/README.md',
  ...guidesOf('generator/docs'),
  ...guidesOf('runtime/docs'),
];

/** The blocks of all documents, or of those that begin with a path. */
export function blocksOf(language: string, path = ''): readonly Block[] {
  return documents
    .filter((each) => each.startsWith(path))
    .flatMap(blocksIn)
    .filter((each) => each.language === language);
}

export function readDocument(path: string): string {
  return readFileSync(join(packageRoot, path), 'utf8');
}

/** The name of a test for a block. */
export function placeOf({ path, line }: Block): string {
  return `${path}:${String(line)}`;
}

function guidesOf(folder: string): readonly string[] {
  return readdirSync(join(packageRoot, folder))
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => `${folder}/${name}`);
}

function blocksIn(path: string): readonly Block[] {
  const document = readDocument(path);
  return [...document.matchAll(/^```(\S*)(.*)\n([\s\S]*?)^```$/gm)].map((match) => {
    const [, language = '', words = '', text = ''] = match;
    const line = document.slice(0, match.index).split('\n').length;
    return { path, line, language, words: words.split(' ').filter(Boolean), text };
  });
}

/** A pattern for a text in a document, in which `…` stands for omitted parts. */
export function shown(text: string): RegExp {
  const parts = text.split('…').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('[\\s\\S]*')}$`);
}

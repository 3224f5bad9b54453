import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../support/server.js';
import { documents, readDocument } from './guides.js';

/** The anchor of a heading, as GitHub creates it. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

function anchorsOf(path: string): readonly string[] {
  const text = withoutBlocks(readDocument(path));
  return [
    ...[...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading)),
    ...[...text.matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id),
  ];
}

function withoutBlocks(document: string): string {
  return document.replaceAll(/^```[\s\S]*?^```$/gm, '');
}

/** Broken links of a document. */
function brokenLinks(path: string): readonly string[] {
  const links = withoutBlocks(readDocument(path)).matchAll(/\]\(([^)\s]+)\)/g);
  return [...links].flatMap(([, link = '']) => (isBroken(path, link) ? [link] : []));
}

function isBroken(path: string, link: string): boolean {
  if (/^https?:/.test(link)) return false;
  const [file = '', anchor] = link.split('#');
  const target = file === '' ? path : join(dirname(path), file);
  if (!existsSync(join(packageRoot, target))) return true;
  return anchor !== undefined && !anchorsOf(target).includes(anchor);
}

describe('A link', () => {
  it.each(documents)('leads to a file and a heading that exist: %s', (path) => {
    expect(brokenLinks(path)).toEqual([]);
  });

  it('is reported as broken when its heading does not exist', () => {
    expect(isBroken('README.md', 'generator/docs/model.md#nothing')).toBe(true);
    expect(isBroken('README.md', 'generator/docs/model.md#roles')).toBe(false);
  });
});

describe('A file name in prose', () => {
  const sources = ['generator', 'runtime', 'templates', 'test'].flatMap((folder) =>
    readdirSync(join(packageRoot, folder), { recursive: true, encoding: 'utf8' })
      .map((path) => `/${folder}/${path}`)
      .concat(`/${folder}`),
  );

  /** Files that a checkout does not contain. */
  const isMade = /^(\.|dist|server\/)/;

  function missing(path: string): readonly string[] {
    const names = withoutBlocks(readDocument(path)).matchAll(
      /`([\w./-]+\.(?:ts|mjs|hbs|yaml)|[\w./-]+\/)`/g,
    );
    return [...names]
      .map(([, name = '']) => name.replace(/\/$/, ''))
      .filter((name) => !isMade.test(name) && !sources.some((each) => each.endsWith(`/${name}`)));
  }

  it.each(['CONTRIBUTING.md', 'test/README.md', 'runtime/docs/internals.md'])(
    'is that of an existing file: %s',
    (path) => {
      expect(missing(path)).toEqual([]);
    },
  );
});

describe('The README of a server', () => {
  const readme = readDocument('examples/staff/server/README.md');

  it('names every guide, except those about the repository and about what comes before a server', () => {
    const guides = documents.filter((path) => path.includes('/docs/'));
    const [, list = ''] = /^## Guides$([^#]*)/m.exec(readme) ?? [];
    const unnamed = guides.filter(
      (path) => !list.includes(`\`${path}`) && !list.includes(`\`${basename(path)}`),
    );
    expect(unnamed).toEqual([
      'generator/docs/diagnostics.md',
      'generator/docs/import.md',
      'runtime/docs/internals.md',
    ]);
  });

  it('names guides that are in the npm package', () => {
    const named = [...readme.matchAll(/`((?:generator|runtime)\/docs\/[\w-]+\.md)`/g)];
    const { files } = JSON.parse(readDocument('package.json')) as { files: readonly string[] };
    expect(named.length).toBeGreaterThan(7);
    for (const [, path = ''] of named) {
      expect(existsSync(join(packageRoot, path)), path).toBe(true);
      expect(
        files.some((each) => path.startsWith(each)),
        path,
      ).toBe(true);
    }
  });
});

describe('test/README.md', () => {
  const [, byFeature = ''] = readDocument('test/README.md').split(/^## By \w+$/m);
  const named = [...byFeature.matchAll(/`([\w./*-]+\/[\w./*-]*)`/g)].map(([, name = '']) => name);
  const files = readdirSync(join(packageRoot, 'test'), {
    recursive: true,
    encoding: 'utf8',
  }).filter((path) => path.endsWith('.test.ts') && !/^(golden|bench)\//.test(path));

  function isOf(name: string, path: string): boolean {
    if (name.endsWith('/')) return path.startsWith(name);
    const parts = name.split('*').map((part) => part.replaceAll('.', '\\.'));
    return new RegExp(`^${parts.join('[\\w-]*')}$`).test(path);
  }

  it('has a row for each test file', () => {
    expect(named.length).toBeGreaterThan(60);
    expect(files.filter((path) => !named.some((name) => isOf(name, path)))).toEqual([]);
  });

  it('names only tests that exist', () => {
    const others = ['golden/', 'http/expected/', 'conformance/rows/'];
    const tests = named.filter((name) => !others.some((folder) => name.startsWith(folder)));
    expect(tests.filter((name) => !files.some((path) => isOf(name, path)))).toEqual([]);
  });
});

describe('A rule that comments and tests cite', () => {
  const numbers = [...numbersIn('protocol.md', 'P'), ...numbersIn('filters.md', 'F')];

  /** The numbers of a guide's rules, in its order. */
  function numbersIn(guide: string, letter: string): readonly string[] {
    const rules = /<a id="([^"]+)">([^<]+)<\/a>/g;
    return [...readDocument(`runtime/docs/${guide}`).matchAll(rules)].map(([, id, number = '']) => {
      expect([id, number[0]]).toEqual([number.toLowerCase(), letter]);
      return number;
    });
  }

  /** Citations of rules, headings and documents that do not exist. */
  function wrongCitations(text: string): readonly string[] {
    return [
      ...[...text.matchAll(/\bP\d+\.\d+\b/g)].filter(([cited]) => !numbers.includes(cited)),
      ...[...text.matchAll(/\b[Ff]ilters (F\d+(?:(?:,| to| and) F\d+)*)|'(F\d+) /g)].flatMap(
        ([cited]) => [...cited.matchAll(/F\d+/g)].filter(([number]) => !numbers.includes(number)),
      ),
      ...[...text.matchAll(/`(\w[\w-]*\.md)(?:#([\w-]+))?`/g)].filter(
        ([, guide = '', anchor]) => !isInGuide(guide, anchor),
      ),
      ...text.matchAll(/\bprotocol,? (?:sections?|decisions?|list|"|\d)|\bdecisions? \d/gi),
      ...text.matchAll(/\bspecification\b|(?<!RFC \d+, )\bsections? \d/gi),
    ].map(([cited]) => cited);
  }

  function isInGuide(guide: string, anchor: string | undefined): boolean {
    const path = documents.find((each) => each.endsWith(`/${guide}`));
    if (path === undefined) return false;
    return anchor === undefined || anchorsOf(path).includes(anchor);
  }

  /** The comments of a file as one line; for conformance rows also the titles. */
  function citingText(path: string): string {
    const text = readDocument(path);
    if (path.startsWith('test/conformance/')) return text;
    const comments = text.match(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$|\{\{!--[\s\S]*?--\}\}/gm) ?? [];
    return comments.join('\n').replaceAll(/\s*\n\s*(?:\*|\/\/)?\s*/g, ' ');
  }

  const files = ['generator', 'runtime', 'templates', 'test'].flatMap((folder) =>
    readdirSync(join(packageRoot, folder), { recursive: true, encoding: 'utf8' })
      .map((name) => `${folder}/${name}`)
      .filter((path) => /\.(ts|mjs|js|hbs)$/.test(path) && !path.endsWith('docs/links.test.ts')),
  );

  it('has a number of its own', () => {
    expect(numbers.length).toBeGreaterThan(200);
    expect(new Set(numbers).size).toBe(numbers.length);
  });

  it('is a rule of a guide of this repository', () => {
    const wrong = files.flatMap((path) =>
      wrongCitations(citingText(path)).map((cited) => `${path}: ${cited}`),
    );
    expect(wrong).toEqual([]);
  });

  it.each([
    'See protocol P3.99.',
    'Null matches nothing (filters F1, F99).',
    'See `access.md#nothing`.',
    'See `nothing.md`.',
    'As protocol section 3 says.',
    'See protocol 7.10.',
    'See (protocol, "Errors").',
    'See decision 12.',
    'The specification says so.',
  ])('is reported as unknown: %s', (text) => {
    expect(wrongCitations(text)).not.toEqual([]);
  });

  it('is accepted in each form', () => {
    const text =
      'Protocol P3.9, filters F1 to F7, `access.md#restrict`, `filters.md`; RFC 9110, section 14';
    expect(wrongCitations(text)).toEqual([]);
  });
});

it.each([
  ['README.md', 150],
  ['CONTRIBUTING.md', 150],
])('%s is short enough to be read: %i lines at most', (path, most) => {
  expect(readDocument(path).trimEnd().split('\n').length).toBeLessThanOrEqual(most);
});

import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../support/server.js';
import { documents, readDocument } from './guides.js';

/** The address of a heading on its page, as GitHub makes it. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

function anchorsOf(path: string): readonly string[] {
  const text = withoutBlocks(readDocument(path));
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading));
}

function withoutBlocks(document: string): string {
  return document.replaceAll(/^```[\s\S]*?^```$/gm, '');
}

/** Links of a document that lead nowhere. */
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

describe('a link', () => {
  it.each(documents)('leads to a file and a heading that are there: %s', (path) => {
    expect(brokenLinks(path)).toEqual([]);
  });

  it('is found broken when its heading is not there', () => {
    expect(isBroken('README.md', 'generator/docs/model.md#nothing')).toBe(true);
    expect(isBroken('README.md', 'generator/docs/model.md#roles')).toBe(false);
  });
});

describe('a file that is named', () => {
  const sources = ['generator', 'runtime', 'templates', 'test'].flatMap((folder) =>
    readdirSync(join(packageRoot, folder), { recursive: true, encoding: 'utf8' })
      .map((path) => `/${folder}/${path}`)
      .concat(`/${folder}`),
  );

  /** What a checkout does not hold. */
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
    'is there: %s',
    (path) => {
      expect(missing(path)).toEqual([]);
    },
  );
});

describe('the README of a server', () => {
  const readme = readDocument('examples/staff/server/README.md');

  it('names every guide, but for those about the repository', () => {
    const guides = documents.filter((path) => path.includes('/docs/'));
    const [, list = ''] = /^## Guides$([^#]*)/m.exec(readme) ?? [];
    const unnamed = guides.filter(
      (path) => !list.includes(`\`${path}`) && !list.includes(`\`${basename(path)}`),
    );
    expect(unnamed).toEqual(['generator/docs/diagnostics.md', 'runtime/docs/internals.md']);
  });

  it('names guides that travel in the package', () => {
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

  it('says of each test file which feature it tests', () => {
    expect(named.length).toBeGreaterThan(60);
    expect(files.filter((path) => !named.some((name) => isOf(name, path)))).toEqual([]);
  });

  it('names only tests that are there', () => {
    const others = ['golden/', 'http/expected/', 'conformance/rows/'];
    const tests = named.filter((name) => !others.some((folder) => name.startsWith(folder)));
    expect(tests.filter((name) => !files.some((path) => isOf(name, path)))).toEqual([]);
  });
});

it.each([
  ['README.md', 250],
  ['CONTRIBUTING.md', 150],
])('%s is short enough to be read: %i lines at most', (path, most) => {
  expect(readDocument(path).trimEnd().split('\n').length).toBeLessThanOrEqual(most);
});

import { readdir, readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';

const generator = new URL('../../generator/', import.meta.url);
const loaded = /^(?:import|export) (?!type )[^;]*?from '([^']+)';$/gms;
/** With the modules that are loaded later, and those of types. */
const named = /^(?:import|export) [^;]*?from '([^']+)';$|\bimport\('([^']+)'\)/gms;

/** All modules that a module leads to. */
async function reached(
  url: URL,
  imports: RegExp,
  seen = new Set<string>(),
): Promise<ReadonlySet<string>> {
  if (seen.has(url.href)) return seen;
  seen.add(url.href);
  const text = await readFile(url, 'utf8');
  for (const [, target = '', later = target] of text.matchAll(imports)) {
    if (!later.startsWith('.')) seen.add(later);
    else await reached(new URL(later.replace(/\.js$/, '.ts'), url), imports, seen);
  }
  return seen;
}

/** `output/plan.ts`; nothing for packages, and for modules of the runtime. */
function pathsOf(urls: Iterable<string>): readonly string[] {
  return [...urls].flatMap((url) =>
    url.startsWith(generator.href) ? [url.slice(generator.href.length)] : [],
  );
}

it('A start of drs-gen loads no stage of the generator and no large package before it is needed', async () => {
  const modules = [...(await reached(new URL('cli/main.ts', generator), loaded))];
  const packages = modules.filter((name) => !name.startsWith('file:') && !name.startsWith('node:'));
  expect(packages.sort()).toEqual(['commander', 'get-east-asian-width', 'picocolors']);
  const stages = pathsOf(modules).map((path) => path.split('/')[0]);
  expect([...new Set(stages)].sort()).toEqual(['cli', 'output', 'source']);
});

const isImport = (path: string): boolean => /^import(?:-data)?\//.test(path);

it('Only their commands import the folders import and import-data', async () => {
  const found = await readdir(generator, { recursive: true });
  const importers: string[] = [];
  for (const path of found.filter((each) => each.endsWith('.ts') && !isImport(each))) {
    const text = await readFile(new URL(path, generator), 'utf8');
    const targets = [...text.matchAll(named)].map(([, target = '', later = target]) => later);
    const urls = targets.map((target) => new URL(target, new URL(path, generator)).href);
    if (pathsOf(urls).some(isImport)) importers.push(path);
  }
  expect(importers.sort()).toEqual(['cli/commands/import-data.ts', 'cli/commands/import.ts']);
});

it.each(['check', 'generate', 'dev'])('drs-gen %s loads no part of import', async (name) => {
  const command = new URL(`cli/commands/${name}.ts`, generator);
  const modules = pathsOf(await reached(command, named));
  expect(modules).toContain('check/check-model.ts');
  expect(modules.filter(isImport)).toEqual([]);
});

import { stringLiteral, width } from '../layout.js';

/** What a file imports of one module; types are imported as such. */
export interface Import {
  readonly name: string;
  readonly module: string;
  /** Whether it exists at run time. */
  readonly isValue?: boolean;
}

/**
 * Import statements: one for each module in order of its path, names in order, types marked as
 * types.
 */
export function importStatements(imports: readonly Import[]): string[] {
  const modules = new Map<string, Map<string, boolean>>();
  for (const { name, module, isValue = false } of imports) {
    const names = modules.get(module) ?? new Map<string, boolean>();
    names.set(name, isValue || (names.get(name) ?? false));
    modules.set(module, names);
  }
  return [...modules]
    .sort(([a], [b]) => order(a, b))
    .map(([module, names]) => statement('import', module, names));
}

/** `import { a, type B } from 'module';`, or with `export`. */
export function statement(
  keyword: 'import' | 'export',
  module: string,
  names: ReadonlyMap<string, boolean>,
): string {
  const sorted = [...names].sort(([a], [b]) => order(a, b));
  const onlyTypes = sorted.every(([, isValue]) => !isValue);
  const items = sorted.map(([name, isValue]) => (isValue || onlyTypes ? name : `type ${name}`));
  const head = onlyTypes ? `${keyword} type` : keyword;
  const flat = `${head} { ${items.join(', ')} } from ${stringLiteral(module)};`;
  // Prettier does not break a single name.
  if (items.length === 1 || width(flat) <= 100) return flat;
  return `${head} {\n${items.map((each) => `  ${each},\n`).join('')}} from ${stringLiteral(module)};`;
}

/** Compares names by code point, so that the order is the same on every machine. */
function order(a: string, b: string): number {
  return Number(a > b) - Number(a < b);
}

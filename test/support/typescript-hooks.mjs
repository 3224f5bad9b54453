import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { transformSync } from 'rolldown/utils';

/** A module is imported as `.js`, and its file may end with `.ts`. */
export async function resolve(specifier, context, next) {
  try {
    return await next(specifier, context);
  } catch (error) {
    if (!specifier.endsWith('.js')) throw error;
    return next(specifier.replace(/\.js$/, '.ts'), context);
  }
}

export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context);
  const file = fileURLToPath(url);
  const { code, errors } = transformSync(file, await readFile(file, 'utf8'), {
    lang: 'ts',
    target: 'es2023',
    tsconfig: false,
  });
  if (errors.length > 0) throw new Error(`${file}: ${errors.map(String).join('\n')}`);
  return { format: 'module', source: code, shortCircuit: true };
}

import { statement } from '../../classes/imports.js';
import { baseClasses, moduleFrom } from '../../classes/places.js';
import type { EmitContext } from '../../context.js';

const file = 'generated/api';

/** Everything that class code imports, and its modules. */
export function apiView({ header, namePlaces }: EmitContext): object {
  const modules = new Map<string, Map<string, boolean>>();
  for (const [name, { path, isValue }] of namePlaces) {
    if (baseClasses.includes(name)) continue;
    const module = moduleFrom(file, path);
    const names = modules.get(module) ?? new Map<string, boolean>();
    // Users' files import this one, so their classes are exported as types: no file may need
    // another one first.
    names.set(name, isValue && /^(generated|#runtime)\//.test(path));
    modules.set(module, names);
  }
  return {
    header,
    exports: [...modules]
      .sort(([a], [b]) => Number(a > b) - Number(a < b))
      .map(([module, names]) => statement('export', module, names)),
  };
}

import { join } from 'node:path';
import type { Model } from '../model/model.js';
import { userClasses } from './classes/user-classes.js';
import { emitContext, type UsersParts } from './context.js';
import type { EmittedFile } from './file.js';
import { Templates } from './templates.js';
import { dataclassUnits, modelUnits, ownerOf } from './units.js';
import { userClassView } from './views/classes/user-class.js';
import { readdirSync, readFileSync } from 'node:fs';
import { hasVectors } from '../model/columns.js';
import {
  hasClassCode,
  hasMedia,
  isCompatible,
  limitsSessions,
  servesFunctions,
} from './classes/class-code.js';

export interface EmitInput extends UsersParts {
  /** Folder of this package, which holds `templates/` and `dist/`. */
  readonly packageRoot: string;
  /** Holds the compiled runtime, when not `dist/runtime`. */
  readonly runtimeFolder?: string;
  /** Named in the emitted files. */
  readonly modelFileName: string;
}

/**
 * Every file of the server for a model, in order of path. Pure, except that it reads templates and
 * the compiled runtime.
 */
export function emitServer(model: Model, input: EmitInput): EmittedFile[] {
  const context = emitContext(model, input.modelFileName, input);
  const templates = new Templates(join(input.packageRoot, 'templates'));
  const files: Omit<EmittedFile, 'owner'>[] = runtimeFiles(
    input.runtimeFolder ?? join(input.packageRoot, 'dist/runtime'),
    model,
    input.migrations,
  );
  for (const { path, when, template, view } of modelUnits) {
    if (when?.(model, context) === false) continue;
    files.push({ path, text: templates.render(template, view(context)) });
  }
  for (const { path, when, template, view } of dataclassUnits) {
    for (const dataclass of model.dataclasses) {
      if (!when(dataclass, model)) continue;
      const text = templates.render(template, view(context, dataclass));
      files.push({ path: path(dataclass, context), text });
    }
  }
  for (const userClass of userClasses(model, context.classNames)) {
    if (input.classFiles?.has(userClass.name) === true) continue;
    const text = templates.render('src/classes/class.ts', userClassView(userClass));
    files.push({ path: userClass.path, text });
  }
  return files
    .map((file) => ({ ...file, owner: ownerOf(file.path) }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

/**
 * Which servers have a file of the runtime, by its name up to the first dot; all servers have files
 * that are not listed.
 */
const needed: Readonly<Record<string, (model: Model, migrations: readonly string[]) => boolean>> = {
  access: ({ roles }) => roles !== undefined,
  class: hasClassCode,
  compatibility: isCompatible,
  functions: servesFunctions,
  media: hasMedia,
  migrations: (_model, migrations) => migrations.length > 0,
  // The generator runs it; servers have the same code in `http`.
  openapi: () => false,
  permissions: limitsSessions,
  postgres: ({ databases }) => databases.includes('postgres'),
  'reader-process': ({ databases }) => databases.includes('sqlite'),
  sqlite: ({ databases }) => databases.includes('sqlite'),
  testing: ({ roles }) => roles !== undefined,
  users: ({ roles }) => roles !== undefined,
  vectors: hasVectors,
};

/**
 * The compiled runtime, with the parts that the model needs.
 * @throws Error if it does not exist
 */
function runtimeFiles(
  runtimeFolder: string,
  model: Model,
  migrations: readonly string[] = [],
): Omit<EmittedFile, 'owner'>[] {
  return readdirSync(runtimeFolder)
    .filter((name) => needed[name.replace(/\..*$/s, '')]?.(model, migrations) !== false)
    .map((name) => ({
      path: `runtime/${name}`,
      text: readFileSync(join(runtimeFolder, name), 'utf8'),
    }));
}

import { posix } from 'node:path';
import type { CheckedModel } from '../check/check-model.js';
import type { ClassFiles } from '../emit/classes/user-classes.js';
import type { Model } from '../model/model.js';
import { Refusal } from '../output/refusal.js';
import type { EditUserFiles, UserFolder } from '../output/user-edits.js';
import type { Diagnostic } from '../source/diagnostic.js';
import type { FoundClasses } from '../stubs/class-files.js';
import { lineStarts, positionAt } from '../source/position.js';
import type { Compiler } from './compiler.js';
import type { Sources } from './render-diagnostics.js';

/** What one run notices of the classes that users write. */
export interface ClassReview {
  /** Where users moved classes to. Comes before {@link edit}, which tells the problems of both. */
  readonly find: (users: UserFolder | undefined) => Promise<ClassFiles>;
  readonly edit: EditUserFiles;
  /** Of the last time that {@link edit} was asked. */
  readonly found: () => { readonly problems: readonly Diagnostic[]; readonly sources: Sources };
}

/** Nothing is written, because of what was noticed of the users' classes. */
export class ClassRefusal extends Refusal {}

/** @param refuses whether a problem forbids to write */
export function classReview(
  compiler: Compiler,
  target: { readonly model: Model; readonly checked: CheckedModel; readonly folder: string },
  refuses: (problem: Diagnostic) => boolean,
): ClassReview {
  const { model, checked, folder } = target;
  const shown = (path: string): string => posix.join(folder, path);
  const nothing: FoundClasses = { files: new Map(), problems: [], sources: new Map() };
  let places = nothing;
  let found: ReturnType<ClassReview['found']> = nothing;
  return {
    find: async (users) => {
      places = users === undefined ? nothing : await compiler.findClasses({ model, users, shown });
      return places.files;
    },
    edit: async (read) => {
      const { edits, problems, sources } = await compiler.reviewClasses({
        model,
        read,
        shown,
        classFiles: places.files,
        modelPlace: (path) => modelPlace(checked, path),
      });
      found = {
        problems: [...places.problems, ...problems],
        sources: new Map([...places.sources, ...sources]),
      };
      if (found.problems.some(refuses)) {
        throw new ClassRefusal('Classes of yours stand in the way. Nothing was changed.');
      }
      return edits;
    },
    found: () => found,
  };
}

/** `model.yaml:12:7`. */
function modelPlace({ places, sources }: CheckedModel, modelPath: string): string {
  const place = places.get(modelPath);
  if (place === undefined) return modelPath;
  const { line, column } = positionAt(lineStarts(sources.get(place.file) ?? ''), place.start);
  return `${place.file}:${line}:${column}`;
}

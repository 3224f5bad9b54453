import { posix } from 'node:path';
import type { CheckedModel } from '../check/check-model.js';
import type { Model } from '../model/model.js';
import { Refusal } from '../output/refusal.js';
import type { EditUserFiles } from '../output/user-edits.js';
import type { Diagnostic } from '../source/diagnostic.js';
import { lineStarts, positionAt } from '../source/position.js';
import type { Compiler } from './compiler.js';
import type { Sources } from './render-diagnostics.js';

/** What one run notices of the classes that users write. */
export interface ClassReview {
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
  let found: ReturnType<ClassReview['found']> = { problems: [], sources: new Map() };
  return {
    edit: async (read) => {
      const { edits, ...noticed } = await compiler.reviewClasses({
        model,
        read,
        shown: (path) => posix.join(folder, path),
        modelPlace: (path) => modelPlace(checked, path),
      });
      found = noticed;
      if (noticed.problems.some(refuses)) {
        throw new ClassRefusal('Classes of yours stand in the way. Nothing was changed.');
      }
      return edits;
    },
    found: () => found,
  };
}

/** `model.yaml:12:7`. */
function modelPlace({ classPlaces, sources }: CheckedModel, modelPath: string): string {
  const place = classPlaces.get(modelPath);
  if (place === undefined) return modelPath;
  const { line, column } = positionAt(lineStarts(sources.get(place.file) ?? ''), place.start);
  return `${place.file}:${line}:${column}`;
}

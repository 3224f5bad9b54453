import { posix } from 'node:path';
import type { CheckedModel } from '../check/check-model.js';
import type { ClassFiles } from '../emit/classes/user-classes.js';
import type { Model } from '../model/model.js';
import { Refusal } from '../output/refusal.js';
import {
  editedFolder,
  type EditUserFiles,
  type UserEdit,
  type UserFolder,
} from '../output/user-edits.js';
import type { Diagnostic } from '../source/diagnostic.js';
import type { FoundClasses } from '../stubs/class-files.js';
import type { RenamedClasses } from '../stubs/review-classes.js';
import { lineStarts, positionAt } from '../source/position.js';
import type { Sources } from './render-diagnostics.js';
import type { World } from './world.js';

/** The findings of one run in the classes of the user. */
export interface ClassReview {
  /**
   * Where users have their classes. Comes before {@link edit}, which reports the problems of both,
   * and sees names that the model changed carried into the classes.
   */
  readonly find: (users: UserFolder | undefined) => Promise<ClassFiles>;
  /** What {@link find} changes in users' files, for new names of the model. */
  readonly renames: () => readonly UserEdit[];
  readonly edit: EditUserFiles;
  /** Of the last call of {@link edit}. */
  readonly found: () => Noticed;
}

interface Noticed {
  readonly problems: readonly Diagnostic[];
  readonly sources: Sources;
}

/** Problems of the users' classes prevent writing. */
export class ClassRefusal extends Refusal {}

interface ReviewOptions {
  /** Whether a problem prevents writing. */
  readonly refuses: (problem: Diagnostic) => boolean;
  /** Whether the run writes; problems are reported at their places after it. */
  readonly isWritten: boolean;
}

export function classReview(
  { compiler, readFile, isFile }: Pick<World, 'compiler' | 'readFile' | 'isFile'>,
  target: { readonly model: Model; readonly checked: CheckedModel; readonly folder: string },
  { refuses, isWritten }: ReviewOptions,
): ClassReview {
  const { model, checked, folder } = target;
  const shown = (path: string): string => posix.join(folder, path);
  const nothing: FoundClasses = { files: new Map(), problems: [], sources: new Map() };
  let places = nothing;
  let renamed: RenamedClasses | undefined;
  let found: Noticed = nothing;
  return {
    find: async (users) => {
      if (users === undefined) return nothing.files;
      const files = { readFile, isFile };
      renamed = await compiler.renameClasses({ model, users, shown, files, known: renamed });
      places = await compiler.findClasses({
        model,
        users: editedFolder(users, renamed.edits),
        shown,
      });
      return places.files;
    },
    renames: () => renamed?.edits ?? [],
    edit: async (read) => {
      const { edits, problems, sources } = await compiler.reviewClasses({
        model,
        read,
        shown,
        classFiles: places.files,
        modelPlace: (path) => modelPlace(checked, path),
      });
      const all = (renames: Noticed = nothing): Noticed => ({
        problems: [...renames.problems, ...places.problems, ...problems],
        sources: new Map([...places.sources, ...sources, ...renames.sources]),
      });
      found = all(isWritten ? renamed : renamed?.before);
      if (found.problems.some(refuses)) {
        found = all(renamed?.before);
        throw new ClassRefusal('Some of your classes prevent this. Nothing was changed.');
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

import type { Model } from '../model/model.js';
import type { Checked } from '../source/diagnostic.js';

export interface ModelInput {
  /** Name of the model file, as problems shall show it. */
  readonly file: string;
  readonly text: string | Uint8Array;
  /** Reads a file beside the model, by its path from there; `undefined` when there is none. */
  readonly readBeside: (relativePath: string) => string | Uint8Array | undefined;
}

export interface CheckOptions {
  /** Lets pass what this version cannot build yet, so that the whole model can be looked at. */
  readonly allowUnsupported?: boolean;
}

export interface CheckedModel extends Checked<Model> {
  /** Text of each file that was read, by the name that origins use; offsets count from its start. */
  readonly sources: ReadonlyMap<string, string>;
}

/** Reads and checks a model file. The value is there unless a problem is an error; problems stand in file order. */
export function checkModel(input: ModelInput, _options: CheckOptions = {}): CheckedModel {
  const text = typeof input.text === 'string' ? input.text : new TextDecoder().decode(input.text);
  return { value: undefined, problems: [], sources: new Map([[input.file, text]]) };
}

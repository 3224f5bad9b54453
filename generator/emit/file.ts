/** One file of a generated server. */
export interface EmittedFile {
  /** Relative to the output folder, with forward slashes. */
  readonly path: string;
  /** `generator`: replaced at every run. `user`: written once, never touched again. */
  readonly owner: 'generator' | 'user';
  /** Whether a file of the user stays deleted once they have deleted it; no other file imports it. */
  readonly isOptional?: true;
  readonly text: string;
}

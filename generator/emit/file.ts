/** One file of a generated server. */
export interface EmittedFile {
  /** Relative to the output folder, with forward slashes. */
  readonly path: string;
  /** `generator`: replaced at every run. `user`: written once, never touched again. */
  readonly owner: 'generator' | 'user';
  readonly text: string;
}

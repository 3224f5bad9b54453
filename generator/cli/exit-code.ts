/** The exit codes of the command line. */
export const exitCode = {
  ok: 0,
  /** The model has errors, or `--check` found differences. */
  failed: 1,
  usage: 2,
  /** A conflict, or a loss of data. */
  refused: 3,
  /** A bug of ours. */
  bug: 70,
  interrupted: { SIGINT: 130, SIGTERM: 143 },
} as const;

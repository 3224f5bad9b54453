/**
 * SQLite's driver, which checks expressions, cannot be loaded: its binary is missing, or is for
 * another Node. The message says how to install it.
 */
export class MissingDriver extends Error {
  override readonly name = 'MissingDriver';

  constructor(
    cause: unknown,
    need = 'The model has expressions, which SQLite has to look at, and better-sqlite3',
  ) {
    const message = cause instanceof Error ? cause.message : String(cause);
    const reason = message.includes('NODE_MODULE_VERSION')
      ? `it was installed for another version of Node than ${process.version}`
      : (message.split('\n', 1)[0] ?? '');
    super(
      `${need} cannot be loaded (${reason}). ` +
        'Run `npm rebuild better-sqlite3`; npm 12 and newer require `npm install-scripts approve better-sqlite3` first.',
      { cause },
    );
  }
}

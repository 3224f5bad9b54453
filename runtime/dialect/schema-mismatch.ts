/** The start is stopped: the database was made for another model, or by somebody else. */
export class SchemaMismatchError extends Error {
  constructor(readonly differences: readonly string[]) {
    super(
      [
        'The database does not match the model. Nothing was changed. Differences:',
        ...differences.map((each) => `  - ${each}`),
      ].join('\n'),
    );
  }
}

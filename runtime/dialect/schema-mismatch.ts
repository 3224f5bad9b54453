/** One thing in which a database is not as the model wants it. */
export interface SchemaDifference {
  readonly what: string;
  /** The SQL that ends it, where that is known and nothing stands in the way. */
  readonly remedy?: string;
}

/** What is wrong with a database, and what to do about it. */
export interface Mismatch {
  /** What somebody has to change. */
  readonly differences: readonly SchemaDifference[];
  /** What the server adds itself as soon as nothing else differs. */
  readonly additions?: readonly SchemaDifference[];
  readonly advice: string;
}

/** The start is stopped: the database was made for another model, or by somebody else. */
export class SchemaMismatchError extends Error {
  /** All of them, what the server would add last. */
  readonly differences: readonly string[];

  constructor({ differences, additions = [], advice }: Mismatch) {
    super(
      [
        'The database does not match the model. Nothing was changed. Differences:',
        ...differences.flatMap(linesOf),
        ...(additions.length === 0
          ? []
          : ['The server does itself, when nothing of that is left:']),
        ...additions.flatMap(({ what }) => linesOf({ what })),
        advice,
      ].join('\n'),
    );
    this.differences = [...differences, ...additions].map(({ what }) => what);
  }
}

function linesOf({ what, remedy }: SchemaDifference): string[] {
  return remedy === undefined
    ? [`  - ${what}`]
    : [`  - ${what}`, `      ${remedy.replaceAll('\n', '\n      ')}`];
}

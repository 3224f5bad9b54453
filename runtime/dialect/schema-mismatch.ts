/** One way in which a database differs from the model's schema. */
export interface SchemaDifference {
  readonly what: string;
  /** The SQL that removes the difference, if it is known and can run. */
  readonly remedy?: string;
}

/** What is wrong with a database and how to correct it. */
interface Mismatch {
  /** Differences that a person has to resolve. */
  readonly differences: readonly SchemaDifference[];
  /** What the server adds itself as soon as these are resolved. */
  readonly additions?: readonly SchemaDifference[];
  readonly advice: string;
}

/** Stops the start: the database belongs to another model, or somebody else created it. */
export class SchemaMismatchError extends Error {
  /** All differences; those that the server would resolve come last. */
  readonly differences: readonly string[];

  constructor({ differences, additions = [], advice }: Mismatch) {
    super(
      [
        'The database does not match the model. Nothing was changed. Differences:',
        ...differences.flatMap(linesOf),
        ...(additions.length === 0
          ? []
          : ['When the differences above are resolved, the server makes these changes itself:']),
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

/** Another server has to migrate the database first (`MIGRATE=check`). */
export class SchemaPendingError extends Error {}

/** A migration cannot continue. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';
}

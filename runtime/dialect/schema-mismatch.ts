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

/** What a start has tried, inside a transaction. */
export interface Attempted {
  readonly before: readonly SchemaDifference[];
  /** What differed when all had been added that could be. */
  readonly after: readonly SchemaDifference[];
  /** What could not be added: it begins with the difference that it would have ended. */
  readonly refused: readonly SchemaDifference[];
}

/** @throws SchemaMismatchError with every difference, when something is left */
export function requireMatch({ before, after, refused }: Attempted, advice: string): void {
  const isRefused = ({ what }: SchemaDifference): boolean =>
    refused.some((each) => each.what.startsWith(what));
  const left = new Set(after.filter((each) => !isRefused(each)).map(({ what }) => what));
  if (left.size === 0 && refused.length === 0) return;
  const isLeft = ({ what }: SchemaDifference): boolean => left.has(what);
  const additions = before.filter((each) => !isRefused(each) && !isLeft(each));
  // With the SQL that speaks of what was missing before.
  const known = before.filter(isLeft);
  const found = after.filter(
    (each) => isLeft(each) && !before.some(({ what }) => what === each.what),
  );
  throw new SchemaMismatchError({
    differences: [...known, ...found, ...refused],
    additions,
    advice,
  });
}

function linesOf({ what, remedy }: SchemaDifference): string[] {
  return remedy === undefined
    ? [`  - ${what}`]
    : [`  - ${what}`, `      ${remedy.replaceAll('\n', '\n      ')}`];
}

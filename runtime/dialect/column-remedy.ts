import { quoted } from './table-definition.js';

/** Of names that a column may have now, so many are told. */
const mostNames = 3;

const derivedPrefix = /^__[a-z]+_/;

/**
 * The SQL for a column that the model does not have: it has another name there, or is gone.
 * @param missing columns that the model has and the table lacks, of the same type
 * @param removal the SQL that takes it away
 */
export function remedyOf(
  table: string,
  column: string,
  missing: readonly string[],
  removal: string,
): string {
  const renaming = missing
    .filter((name) => prefixOf(name) === prefixOf(column))
    .slice(0, mostNames)
    .map(
      (name) =>
        `ALTER TABLE ${quoted(table)} RENAME COLUMN ${quoted(column)} TO ${quoted(name)}; -- if that is its name now`,
    );
  return [...renaming, `${removal} -- if it is gone: its values are lost`].join('\n');
}

/** The columns beside texts and vectors go with theirs. */
function prefixOf(column: string): string | undefined {
  return derivedPrefix.exec(column)?.[0];
}

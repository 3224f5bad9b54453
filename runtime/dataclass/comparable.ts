import type { Dialect, Sql } from '../dialect/dialect.js';
import type { ColumnDefinition } from './attribute-path.js';
import { column, type Source } from './source.js';

/** A column in the form that comparison and order use: text is folded, by its folded column where it has one. */
export function comparableColumn(
  dialect: Dialect,
  source: Source,
  attribute: ColumnDefinition,
): Sql {
  if (attribute.type !== 'string') return column(source, attribute.column);
  const folded = attribute.kind === 'storage' ? attribute.foldedColumn : undefined;
  return folded === undefined
    ? dialect.fold(column(source, attribute.column))
    : column(source, folded);
}

/** A column that is null where the attribute is, and that an index serves where there is one. */
export function nullableColumn(source: Source, attribute: ColumnDefinition): Sql {
  const folded = attribute.kind === 'storage' ? attribute.foldedColumn : undefined;
  return column(source, folded ?? attribute.column);
}

import type { StorageType } from '../protocol/definition.js';
import type { ReportColumn } from './columns.js';

/** What a report says of a column (specification, "Report-format response"). */
export interface ColumnSchema {
  readonly name: string;
  readonly dataType: 'NUMBER' | 'STRING';
  readonly semantics: {
    readonly conceptType: 'METRIC' | 'DIMENSION';
    readonly semanticGroup: 'NUMERIC' | 'TEXT';
    readonly semanticType: 'NUMBER' | 'TEXT';
  };
}

const numberTypes: ReadonlySet<StorageType> = new Set(['number', 'integer', 'duration']);

/** What a report says of its columns, in their order. */
export function reportSchema(columns: readonly ReportColumn[]): readonly ColumnSchema[] {
  return columns.map(({ name, attribute }) =>
    numberTypes.has(attribute.type)
      ? {
          name,
          dataType: 'NUMBER',
          semantics: { conceptType: 'METRIC', semanticGroup: 'NUMERIC', semanticType: 'NUMBER' },
        }
      : {
          name,
          dataType: 'STRING',
          semantics: { conceptType: 'DIMENSION', semanticGroup: 'TEXT', semanticType: 'TEXT' },
        },
  );
}

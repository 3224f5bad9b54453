import type {
  Attribute,
  Dataclass,
  Model,
  StorageAttribute,
  StorageType,
} from '../../../model/model.js';
import { field } from '../../classes/members.js';
import { enumType } from '../../classes/type-text.js';
import type { EmitContext } from '../../context.js';
import { foldedColumn, vectorColumns } from '../../../model/columns.js';

/** The tables as Kysely sees them: what the database holds, not what class code reads. */
export function databaseView({ header, model, classNames }: EmitContext): object {
  const tables = model.dataclasses.map((dataclass) => ({
    type: classNames.of(dataclass).table,
    table: dataclass.table,
    name: dataclass.name,
    columns: columnsOf(model, dataclass),
  }));
  const uses = ['ColumnType', 'Generated', 'GeneratedAlways'].filter((each) =>
    tables.some(({ columns }) => columns.some((column) => column.includes(`: ${each}<`))),
  );
  return {
    header,
    imports: uses.length === 0 ? [] : [`import type { ${uses.join(', ')} } from 'kysely';`],
    members: tables.map(({ type, table }) => field('readonly', table, type)),
    tables,
  };
}

function columnsOf(model: Model, dataclass: Dataclass): readonly string[] {
  const stored = dataclass.attributes.filter((each) => each.kind === 'storage');
  return [
    ...dataclass.attributes.flatMap((each) => columnOf(each)),
    ...stored.flatMap((each) => {
      const folded = foldedColumn(model, dataclass, each);
      return folded === undefined ? [] : [field('', folded, 'string | null', comparison(each))];
    }),
    ...stored.flatMap((each) => {
      const columns = vectorColumns(each);
      if (columns === undefined) return [];
      return [
        field('', columns.norm, 'number | null', comparison(each)),
        field('', columns.unit, `${unitType(model)} | null`, comparison(each)),
      ];
    }),
    field('', '__STAMP', 'Generated<number>'),
    field('', '__TIMESTAMP', 'string'),
  ];
}

/**
 * The type of a vector's direction: numbers as bytes in SQLite, a list in the notation of
 * PostgreSQL there.
 */
function unitType({ databases }: Model): string {
  const types = databases.map((each) => (each === 'sqlite' ? 'Uint8Array' : 'string'));
  return types.sort().join(' | ');
}

function comparison({ name }: StorageAttribute): string {
  return `What ${name} is compared by; the server derives it when it stores an entity.`;
}

function columnOf(attribute: Attribute): readonly string[] {
  if (attribute.kind === 'storage') {
    const type =
      attribute.enum === undefined || attribute.type === 'decimal'
        ? columnTypes[attribute.type]
        : enumType(attribute.enum);
    if (attribute.key && attribute.type === 'integer') {
      return [field('', attribute.column, `Generated<${type}>`)];
    }
    const isThere = attribute.key || attribute.mandatory;
    return [field('', attribute.column, isThere ? type : `${type} | null`)];
  }
  if (attribute.kind !== 'computed' || attribute.column === undefined) return [];
  return [field('', attribute.column, `GeneratedAlways<${columnTypes[attribute.type]} | null>`)];
}

/** The type that the driver returns for a column of each type. */
export const columnTypes: Readonly<Record<StorageType, string>> = {
  string: 'string',
  uuid: 'string',
  number: 'number',
  integer: 'number',
  // In SQLite, the digits without the point.
  decimal: 'number | bigint',
  boolean: '0 | 1',
  date: 'string',
  duration: 'number',
  object: 'string',
  image: 'Uint8Array',
  blob: 'Uint8Array',
  vector: 'string',
};

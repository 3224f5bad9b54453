import { sqliteTypes } from '../../model/sqlite-types.js';
import type { Dataclass, Model, StorageAttribute } from '../../model/model.js';
import { hasJobs } from '../classes/class-code.js';
import { sqliteAudit } from './audit.js';
import { columnChecks } from './column-checks.js';
import { indexesOf, keyOf } from './indexes.js';
import { sqlName } from '../../model/sql-text.js';
import {
  defaultOf,
  defaultText,
  type ExpressionAttribute,
  referenceOf,
  type TableColumn,
  tableColumns,
} from './table-columns.js';

/**
 * The SQLite schema of a model: one statement for each table, index and trigger, tables in model
 * order, and the table of jobs, if there are some.
 */
export function sqliteSchema(model: Model): string[] {
  return [
    ...model.dataclasses.flatMap((dataclass) => [
      createTable(model, dataclass),
      ...createIndexes(model, dataclass),
    ]),
    ...sqliteAudit(model),
    ...(hasJobs(model) ? jobTable : []),
  ];
}

/** See `runtime/jobs/job-queue.ts`. */
const jobTable = [
  `CREATE TABLE "__job" (
  "id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
  "name" TEXT NOT NULL,
  "params" TEXT NOT NULL,
  "due" INTEGER,
  "holder" TEXT,
  "attempts" INTEGER NOT NULL DEFAULT 0,
  "error" TEXT
)`,
  'CREATE INDEX "__job.due" ON "__job" ("due")',
];

function createTable(model: Model, dataclass: Dataclass): string {
  const columns = tableColumns(model, dataclass).map((each) => columnText(model, dataclass, each));
  return `CREATE TABLE ${sqlName(dataclass.table)} (\n  ${columns.join(',\n  ')}\n)`;
}

function columnText(model: Model, dataclass: Dataclass, column: TableColumn): string {
  switch (column.kind) {
    case 'stored':
      return storedColumn(model, dataclass, column.attribute);
    case 'stamp':
      return '"__STAMP" INTEGER NOT NULL DEFAULT 1';
    case 'timestamp':
      return '"__TIMESTAMP" TEXT NOT NULL';
    case 'folded':
      return [`${sqlName(column.column)} TEXT`, ...defaultText(column.default)].join(' ');
    case 'norm':
      return `${sqlName(column.column)} REAL`;
    case 'unit':
      return `${sqlName(column.column)} BLOB`;
    case 'expression':
      return generatedColumn(column.attribute);
  }
}

function storedColumn(model: Model, dataclass: Dataclass, attribute: StorageAttribute): string {
  const parts = [sqlName(attribute.column), sqliteTypes[attribute.type]];
  if (attribute.key) {
    parts.push('PRIMARY KEY');
    // A used key is never used again: a client may still hold it.
    if (attribute.type === 'integer' && attribute.generated === 'sequence') {
      parts.push('AUTOINCREMENT');
    }
  }
  if (attribute.mandatory || attribute.key) parts.push('NOT NULL');
  parts.push(...defaultText(defaultOf(attribute, 'sqlite')));
  for (const check of columnChecks(attribute, 'sqlite', atLeast)) parts.push(`CHECK (${check})`);
  const reference = referenceOf(model, dataclass, attribute);
  // No ON DELETE: the server raises the stamps of the entities that it would change, and SQLite
  // cascades over 1000 levels at most.
  if (reference !== undefined) {
    parts.push(`REFERENCES ${sqlName(reference.table)} (${sqlName(reference.column)})`);
  }
  return parts.join(' ');
}

/** SQLite's length ends at the first character U+0000; the server counts all of them. */
function atLeast(value: string, length: number): string {
  return `(length(${value}) >= ${String(length)} OR instr(${value}, char(0)) > 0)`;
}

function generatedColumn(attribute: ExpressionAttribute): string {
  const { column, type } = attribute;
  return `${sqlName(column)} ${sqliteTypes[type]} GENERATED ALWAYS AS (${normalised(attribute)}) VIRTUAL`;
}

/**
 * An expression may yield anything; texts and dates are converted to the form in which such values
 * are stored.
 */
function normalised({ type, dateOnly, expression }: ExpressionAttribute): string {
  if (type === 'string') return `CAST((${expression}) AS TEXT)`;
  if (type !== 'date') return expression;
  return dateOnly ? `date((${expression}))` : `strftime('%Y-%m-%dT%H:%M:%fZ', (${expression}))`;
}

function createIndexes(model: Model, dataclass: Dataclass): string[] {
  const key = keyOf(dataclass);
  const isRowid = key.type === 'integer';
  return indexesOf(model, dataclass).map(({ name, isUnique, columns }) => {
    const listed = columns.map(({ column }) => column);
    // Ties are broken by the key; an integer key is the table's own order, and part of every index already.
    const tieBreak = isUnique || isRowid || listed.includes(key.column) ? [] : [key.column];
    const list = [...listed, ...tieBreak].map(sqlName).join(', ');
    const kind = isUnique ? 'UNIQUE INDEX' : 'INDEX';
    return `CREATE ${kind} ${sqlName(name)} ON ${sqlName(dataclass.table)} (${list})`;
  });
}

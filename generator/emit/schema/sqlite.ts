import { attributeNamed, dataclassNamed } from '../../model/lookup.js';
import { sqliteTypes } from '../../model/sqlite-types.js';
import { foldedColumn, isLarge, vectorColumns } from './columns.js';
import { indexesOf, keyOf } from './indexes.js';
import { sqlConstant, sqlName } from './sql-text.js';
import type {
  Attribute,
  CalculatedAttribute,
  Dataclass,
  Model,
  RelatedEntityAttribute,
  StorageAttribute,
} from '../../model/model.js';

/** The SQLite schema of a model: one statement for each table and index, in model order. */
export function sqliteSchema(model: Model): string[] {
  return model.dataclasses.flatMap((dataclass) => [
    createTable(model, dataclass),
    ...createIndexes(model, dataclass),
  ]);
}

function createTable(model: Model, dataclass: Dataclass): string {
  const stored = dataclass.attributes.filter((each) => each.kind === 'storage');
  const key = stored.filter((each) => each.key);
  // Large values stand last: SQLite reads a row from its beginning, and only as far as it must.
  const small = stored.filter((each) => !each.key && !isLarge(each.type) && each.type !== 'vector');
  const vectors = stored.flatMap((each) => {
    const columns = vectorColumns(each);
    return columns === undefined ? [] : [{ attribute: each, ...columns }];
  });
  const large = stored.filter((each) => isLarge(each.type));
  const columns = [
    ...key.map((each) => column(model, dataclass, each)),
    '"__STAMP" INTEGER NOT NULL DEFAULT 1',
    '"__TIMESTAMP" TEXT NOT NULL',
    ...small.map((each) => column(model, dataclass, each)),
    ...stored.flatMap((each) => {
      const folded = foldedColumn(model, dataclass, each);
      return folded === undefined ? [] : [`${sqlName(folded)} TEXT`];
    }),
    ...vectors.map(({ norm }) => `${sqlName(norm)} REAL`),
    ...dataclass.attributes.filter(isExpression).map(generatedColumn),
    ...vectors.map(({ unit }) => `${sqlName(unit)} BLOB`),
    ...vectors.map(({ attribute }) => column(model, dataclass, attribute)),
    ...large.map((each) => column(model, dataclass, each)),
  ];
  return `CREATE TABLE ${sqlName(dataclass.table)} (\n  ${columns.join(',\n  ')}\n)`;
}

function column(model: Model, dataclass: Dataclass, attribute: StorageAttribute): string {
  const parts = [sqlName(attribute.column), sqliteTypes[attribute.type]];
  if (attribute.key) {
    parts.push('PRIMARY KEY');
    // A key that was used once is never given again: a client may still hold it.
    if (attribute.type === 'integer' && attribute.generated === 'sequence') {
      parts.push('AUTOINCREMENT');
    }
  }
  if (attribute.mandatory || attribute.key) parts.push('NOT NULL');
  for (const check of checks(attribute)) parts.push(`CHECK (${check})`);
  const relation = dataclass.attributes.find(
    (each): each is RelatedEntityAttribute =>
      each.kind === 'relatedEntity' && each.foreignKey === attribute.name,
  );
  if (relation !== undefined) parts.push(reference(model, relation));
  return parts.join(' ');
}

/**
 * No ON DELETE: what it changes has its stamp raised, which the server does, and SQLite cascades over 1000 levels at most.
 */
function reference(model: Model, relation: RelatedEntityAttribute): string {
  const target = dataclassNamed(model, relation.target);
  const key = attributeNamed(target, target.key) as StorageAttribute;
  return `REFERENCES ${sqlName(target.table)} (${sqlName(key.column)})`;
}

function checks(attribute: StorageAttribute): string[] {
  const value = sqlName(attribute.column);
  const conditions: string[] = [];
  // What the database draws ends where a client can no longer tell two keys apart.
  if (attribute.key && attribute.generated === 'sequence') {
    conditions.push(`${value} <= ${String(Number.MAX_SAFE_INTEGER)}`);
  }
  if (attribute.type === 'boolean') conditions.push(`${value} IN (0, 1)`);
  if (attribute.enum !== undefined) {
    conditions.push(`${value} IN (${attribute.enum.map(sqlConstant).join(', ')})`);
  }
  if (attribute.minLength !== undefined) {
    // SQLite's length ends at the first character U+0000; the server counts all of them.
    conditions.push(
      `(length(${value}) >= ${String(attribute.minLength)} OR instr(${value}, char(0)) > 0)`,
    );
  }
  if (attribute.maxLength !== undefined) {
    conditions.push(`length(${value}) <= ${String(attribute.maxLength)}`);
  }
  if (attribute.min !== undefined) conditions.push(`${value} >= ${sqlConstant(attribute.min)}`);
  if (attribute.max !== undefined) conditions.push(`${value} <= ${sqlConstant(attribute.max)}`);
  return conditions;
}

function isExpression(attribute: Attribute): attribute is CalculatedAttribute {
  return attribute.kind === 'calculated' && attribute.expression !== undefined;
}

function generatedColumn(attribute: CalculatedAttribute): string {
  const { column: columnName = attribute.name, expression = '' } = attribute;
  return `${sqlName(columnName)} ${sqliteTypes[attribute.type]} GENERATED ALWAYS AS (${normalised(attribute, expression)}) VIRTUAL`;
}

/** An expression may yield anything; texts and dates are brought to the form that such values are stored in. */
function normalised({ type, dateOnly }: CalculatedAttribute, expression: string): string {
  if (type === 'string') return `CAST((${expression}) AS TEXT)`;
  if (type !== 'date') return expression;
  return dateOnly ? `date((${expression}))` : `strftime('%Y-%m-%dT%H:%M:%fZ', (${expression}))`;
}

function createIndexes(model: Model, dataclass: Dataclass): string[] {
  const key = keyOf(dataclass);
  const isRowid = key.type === 'integer';
  return indexesOf(model, dataclass).map(({ name, isUnique, columns }) => {
    const listed = columns.map(({ column: each }) => each);
    // Ties are broken by the key; an integer key is the table's own order, and part of every index already.
    const tieBreak = isUnique || isRowid || listed.includes(key.column) ? [] : [key.column];
    const list = [...listed, ...tieBreak].map(sqlName).join(', ');
    const kind = isUnique ? 'UNIQUE INDEX' : 'INDEX';
    return `CREATE ${kind} ${sqlName(name)} ON ${sqlName(dataclass.table)} (${list})`;
  });
}

import { foldedColumn } from '../../model/columns.js';
import { dataclassNamed, keyOf, targetOf } from '../../model/lookup.js';
import type {
  AliasAttribute,
  Attribute,
  ComputedAttribute,
  Dataclass,
  Model,
  RelatedEntityAttribute,
  StorageAttribute,
} from '../../model/model.js';
import type { EmitContext } from '../context.js';
import { call, docComment, fits, propertyName, stringLiteral } from '../layout.js';
import { columnTypes } from './classes/database.js';

/** The Kysely queries of a dataclass: everything that depends only on the model. */
export function queriesView(context: EmitContext, { name }: Dataclass): object {
  const { served: model, classNames } = context;
  const dataclass = dataclassNamed(model, name);
  const { table, attributes } = dataclass;
  const tableType = classNames.of(dataclass).table;
  const key = storageOf(dataclass, dataclass.key);
  const keyType = comparedType(context, dataclass, key);
  const paths = aliasPaths(model, classNames, dataclass);
  const compared = (attribute: StorageAttribute): string =>
    columnReference(table, foldedColumn(model, dataclass, attribute) ?? attribute.column);
  const where = (head: string, column: string, value: string, indent: number): string =>
    call(`${head} entities(db).where`, [column, "'='", value], indent);
  const by = attributes.flatMap((each) =>
    each.kind === 'storage' && each.unique && !each.key
      ? [
          {
            signature: signature(`  ${propertyName(each.name)}`, [
              database,
              `value: Value<${comparedType(context, dataclass, each)}>`,
              select,
            ]),
            query: where('const query =', compared(each), 'value', 4),
          },
        ]
      : [],
  );
  const of = attributes.flatMap((each) => {
    if (each.kind !== 'relatedEntity') return [];
    const foreignKey = storageOf(dataclass, each.foreignKey);
    const { target, inverse, references, onDelete } = each;
    // Without a constraint, it may hold a text in another case than the key.
    const isFolded = onDelete === 'none';
    const [type, column] = isFolded
      ? [comparedType(context, dataclass, foreignKey), compared(foreignKey)]
      : [storedType(context, dataclass, foreignKey), columnReference(table, foreignKey.column)];
    const parameter = references === undefined ? 'key' : 'value';
    const address = `GET /rest/${target}(<key>)/${inverse ?? ''}?$expand=${inverse ?? ''}`;
    return [
      {
        doc: docComment(inverse === undefined ? undefined : address, 2),
        signature: signature(`  ${propertyName(each.name)}`, [
          database,
          `${parameter}: Value<${type}>`,
        ]),
        body: where('return', column, parameter, 4),
      },
    ];
  });
  const body = {
    entities: call('return db.selectFrom', [stringLiteral(table)], 2),
    page: chain('const rows = query', [
      ['orderBy', [compared(key)]],
      ['limit', ['top']],
      ['offset', ['skip']],
    ]),
    byKey: where('const query =', compared(key), 'key', 2),
    by,
    of,
    insert: chain('return db', [
      ['insertInto', [stringLiteral(table)]],
      ['values', ['row']],
    ]),
    change: chain('return db', [
      ['updateTable', [stringLiteral(table)]],
      ['set', ['changes']],
      ['where', [compared(key), "'='", 'key']],
      ['where', [columnReference(table, '__STAMP'), "'='", 'stamp']],
    ]),
    remove: chain('return db', [
      ['deleteFrom', [stringLiteral(table)]],
      ['where', [columnReference(table, key.column), "'in'", 'keys']],
    ]),
  };
  const text = JSON.stringify(body);
  const kysely = ['Expression', 'Insertable', 'Kysely', 'SelectQueryBuilder', 'Updateable'];
  const types = [text, keyType, storedType(context, dataclass, key)];
  if (types.some((each) => each.includes('Selectable<'))) kysely.push('Selectable');
  return {
    ...body,
    header: context.header,
    name,
    imports: [
      text.includes('sql.id(')
        ? nameImport('import', [...kysely.map((each) => `type ${each}`), 'sql'], 'kysely')
        : nameImport('import type', kysely, 'kysely'),
      `import type { Attributes, Row, Select, SelectPage, Value } from '#runtime/definition';`,
      nameImport(
        'import type',
        ['Database', ...new Set([tableType, ...paths.map(({ type }) => type)])],
        '../database.js',
      ),
    ],
    tables: generic('type Tables = Pick', ['Database', stringLiteral(table)]),
    entitiesType: generic('type Entities = SelectQueryBuilder', [
      'Tables',
      stringLiteral(table),
      'object',
    ]),
    tableType,
    row: alias('type EntityRow', `Row<${tableType}>`),
    related: paths.map(relatedSignature),
    attributes: attributes
      .filter(({ exposed }) => exposed)
      .map((each) => attributeMember(model, dataclass, each)),
    key: `<${dataclass.key}>`,
    byKeySignature: signature('export function byKey', [
      database,
      `key: Value<${keyType}>`,
      select,
    ]),
    changeSignature: signature('export function change', [
      database,
      `key: Value<${keyType}>`,
      'stamp: Value<number>',
      `changes: Updateable<${tableType}>`,
    ]),
    updateSignature: signature('export function update', [
      database,
      `key: Value<${keyType}>`,
      'stamp: Value<number>',
      `changes: Updateable<${tableType}>`,
    ]),
    insertSignature: signature('export function insert', [
      database,
      `row: Insertable<${tableType}>`,
    ]),
    removeSignature: signature('export function remove', [
      database,
      `keys: Expression<${storedType(context, dataclass, key)}>`,
    ]),
  };
}

function byName(a: string, b: string): number {
  const [first, second] = [a, b].map((each) => each.replace('type ', '').toLowerCase());
  return (first ?? '') < (second ?? '') ? -1 : 1;
}

const database = 'db: Kysely<Tables>';
const select = 'select: Select<EntityRow>';

function signature(head: string, parameters: readonly string[]): string {
  const flat = `${head}(${parameters.join(', ')}) {`;
  if (fits(flat)) return flat;
  const indent = /^ */.exec(head)?.[0] ?? '';
  return `${head}(\n${parameters.map((each) => `${indent}  ${each},\n`).join('')}${indent}) {`;
}

function alias(head: string, type: string): string {
  const flat = `${head} = ${type};`;
  return fits(flat) ? flat : `${head} =\n  ${type};`;
}

/** `head<A, B>;`, with an argument in each line if they do not fit. */
function generic(head: string, args: readonly string[]): string {
  const flat = `${head}<${args.join(', ')}>;`;
  return fits(flat) ? flat : `${head}<\n${args.map((each) => `  ${each}`).join(',\n')}\n>;`;
}

function nameImport(keyword: string, given: readonly string[], module: string): string {
  const names = [...given].sort(byName);
  const flat = `${keyword} { ${names.join(', ')} } from '${module}';`;
  return fits(flat)
    ? flat
    : `${keyword} {\n${names.map((each) => `  ${each},\n`).join('')}} from '${module}';`;
}

/** A call of a method, with the code of its arguments. */
type MethodCall = readonly [method: string, args: readonly string[]];

/** Calls of methods, one in each line if they do not fit in one with the semicolon or comma behind them. */
function chain(head: string, calls: readonly MethodCall[], indent = 2): string {
  const flat = flatChain(head, calls);
  if (fits(`${' '.repeat(indent)}${flat};`)) return flat;
  const [only] = calls;
  if (only !== undefined && calls.length === 1) return call(`${head}.${only[0]}`, only[1], indent);
  const inner = ' '.repeat(indent + 2);
  const lines = calls.map(([method, args]) => `\n${inner}${call(`.${method}`, args, indent + 2)}`);
  return `${head}${lines.join('')}`;
}

function flatChain(head: string, calls: readonly MethodCall[]): string {
  return head + calls.map(([method, args]) => `.${method}(${args.join(', ')})`).join('');
}

interface AliasPath {
  /** Relations. */
  readonly path: readonly string[];
  /** The type of the table that they lead to. */
  readonly type: string;
}

/** Whether the foreign key of a relation holds other values than the related key, or keys that no entity has. */
function isReadFromTarget({ references, onDelete }: RelatedEntityAttribute): boolean {
  return references !== undefined || onDelete === 'none';
}

function aliasPaths(
  model: Model,
  { of: namesOf }: EmitContext['classNames'],
  dataclass: Dataclass,
): readonly AliasPath[] {
  const found = new Map<string, AliasPath>();
  for (const attribute of dataclass.attributes) {
    if (!attribute.exposed) continue;
    if (attribute.kind === 'relatedEntity' && isReadFromTarget(attribute)) {
      const type = namesOf(targetOf(model, attribute)).table;
      found.set(attribute.name, { path: [attribute.name], type });
    }
    if (attribute.kind === 'relationAlias' && !attribute.many) {
      const type = namesOf(targetOf(model, attribute)).table;
      found.set(attribute.path.join('.'), { path: attribute.path, type });
    }
    if (attribute.kind !== 'alias') continue;
    const { relations, end } = aliasEnd(model, dataclass, attribute);
    const type = namesOf(end).table;
    if (relations.length > 0) found.set(relations.join('.'), { path: relations, type });
  }
  return [...found.values()];
}

interface AliasEnd {
  readonly relations: readonly string[];
  /** The targets of the relations. */
  readonly end: Dataclass;
  readonly attribute: ColumnAttribute;
}

/** The end of an alias's path, which may be another alias. */
function aliasEnd(model: Model, dataclass: Dataclass, { path }: AliasAttribute): AliasEnd {
  const relations: string[] = [];
  let end = dataclass;
  for (const name of path) {
    const attribute = end.attributes.find((each) => each.name === name);
    if (attribute?.kind === 'alias') {
      const further = aliasEnd(model, end, attribute);
      return { ...further, relations: [...relations, ...further.relations] };
    }
    if (attribute?.kind !== 'relatedEntity') {
      return { relations, end, attribute: columnAttribute(end, name) };
    }
    const { target } = attribute;
    relations.push(name);
    end = model.dataclasses.find((each) => each.name === target) ?? end;
  }
  throw new Error(`The path ${path.join('.')} does not end in an attribute.`);
}

/** An attribute that a column holds. */
type ColumnAttribute = (StorageAttribute | ComputedAttribute) & { readonly column: string };

function columnAttribute({ attributes }: Dataclass, name: string): ColumnAttribute {
  const found = attributes.find((each) => each.name === name);
  if (found !== undefined && isInColumn(found)) return found;
  throw new Error(`No column holds ${name}.`);
}

function isInColumn(attribute: Attribute): attribute is ColumnAttribute {
  const { kind } = attribute;
  return (kind === 'storage' || kind === 'computed') && attribute.column !== undefined;
}

/** The row that an alias leads to. */
function relatedSignature({ path, type }: AliasPath): string {
  const names = path.map(stringLiteral);
  const flat = `  related(...path: [${names.join(', ')}]): Row<${type}>;`;
  if (fits(flat)) return flat;
  const line = `    ...path: [${names.join(', ')}]`;
  const tuple = fits(line)
    ? line
    : `    ...path: [\n${names.map((each) => `      ${each},\n`).join('')}    ]`;
  return `  related(\n${tuple}\n  ): Row<${type}>;`;
}

/** The query for one attribute of an answer. */
function attributeMember(model: Model, dataclass: Dataclass, attribute: Attribute): string {
  const calls = valueCalls(model, dataclass, attribute);
  const label = `  ${propertyName(attribute.name)}:`;
  // Every object has a property of that name, whose type TypeScript would use.
  const parameter = attribute.name in Object.prototype ? 'row: EntityRow' : 'row';
  const flat = `${label} (${parameter}) => ${flatChain('row', calls)},`;
  if (fits(flat)) return flat;
  const head = `${label} (${parameter}) =>`;
  if (fits(head)) return `${head}\n    ${chain('row', calls, 4)},`;
  return fits(`${label} (`)
    ? `${label} (\n    ${parameter},\n  ) =>\n    ${chain('row', calls, 4)},`
    : `${label}\n    (${parameter}) =>\n      ${chain('row', calls, 6)},`;
}

/** The calls that lead from a row to the JSON of the value. */
function valueCalls(
  model: Model,
  dataclass: Dataclass,
  attribute: Attribute,
): readonly MethodCall[] {
  const value = (method: string, column: string): MethodCall => [method, [stringLiteral(column)]];
  const related = (path: readonly string[]): MethodCall => ['related', path.map(stringLiteral)];
  const key = storageOf(dataclass, dataclass.key).column;
  switch (attribute.kind) {
    case 'storage':
    case 'computed':
      return [isInColumn(attribute) ? value(attribute.type, attribute.column) : ['computed', []]];
    case 'relatedEntity': {
      if (!isReadFromTarget(attribute)) {
        return [value('relatedEntity', storageOf(dataclass, attribute.foreignKey).column)];
      }
      const { column } = keyOf(targetOf(model, attribute));
      return [related([attribute.name]), value('relatedEntity', column)];
    }
    case 'relatedEntities':
      return [value('relatedEntities', key)];
    case 'relationAlias': {
      if (attribute.many) return [value('relatedEntities', key)];
      const { column } = keyOf(targetOf(model, attribute));
      return [related(attribute.path), value('relatedEntity', column)];
    }
    case 'aggregate':
      return [value('aggregate', attribute.name)];
    case 'alias': {
      const { relations, attribute: end } = aliasEnd(model, dataclass, attribute);
      const json = value(end.type, end.column);
      return relations.length === 0 ? [json] : [related(relations), json];
    }
  }
}

function storageOf({ attributes }: Dataclass, name: string): StorageAttribute {
  const found = attributes.find((each) => each.name === name);
  if (found?.kind !== 'storage') throw new Error(`No column holds ${name}.`);
  return found;
}

/** The type with which an attribute is compared: folded text, or the type of its column. */
function comparedType(
  context: EmitContext,
  dataclass: Dataclass,
  attribute: StorageAttribute,
): string {
  return foldedColumn(context.served, dataclass, attribute) === undefined
    ? storedType(context, dataclass, attribute)
    : 'string';
}

function storedType(
  { classNames }: EmitContext,
  dataclass: Dataclass,
  attribute: StorageAttribute,
): string {
  return attribute.enum === undefined || attribute.type === 'decimal'
    ? columnTypes[attribute.type]
    : `Selectable<${classNames.of(dataclass).table}>[${stringLiteral(attribute.column)}]`;
}

/** Kysely parses names from a text, in which a dot or a blank would have a meaning. */
function columnReference(table: string, column: string): string {
  const isPlain = [table, column].every((each) => /^[\p{L}\p{N}_$]+$/u.test(each));
  return isPlain
    ? stringLiteral(`${table}.${column}`)
    : `sql.id(${stringLiteral(table)}, ${stringLiteral(column)})`;
}

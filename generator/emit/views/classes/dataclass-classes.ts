import { leadsToMany, memberOf, targetOf } from '../../../model/lookup.js';
import type {
  Attribute,
  Dataclass,
  Model,
  RelatedEntityAttribute,
  RelationAliasAttribute,
} from '../../../model/model.js';
import { abstractMembers, writtenMembers } from '../../classes/abstract-members.js';
import { type ClassLevel, classLevels, writtenClasses } from '../../classes/class-code.js';
import { field } from '../../classes/members.js';
import { importsOf } from '../../classes/places.js';
import {
  attributeType,
  decimalNames,
  isAlwaysThere,
  keyType,
  named,
  orNull,
  referenceType,
  type TypeText,
} from '../../classes/type-text.js';
import type { EmitContext } from '../../context.js';
import { docComment, stringLiteral } from '../../layout.js';
import { isLarge } from '../../../model/columns.js';

const parents = {
  dataclass: 'DataclassObject',
  entity: 'Entity',
  selection: 'EntitySelection',
} as const satisfies Readonly<Record<ClassLevel, string>>;

/** The base classes of a dataclass, its classes if the user writes none, and their types. */
export function dataclassClassesView(context: EmitContext, dataclass: Dataclass): object {
  const { classNames, namePlaces, model } = context;
  const names = classNames.of(dataclass);
  const { entity, selection } = names.written;
  const uses = new Set<string>(['DataStore', entity, selection]);
  const byUser = writtenClasses(dataclass);
  const object = objectInterface(context, dataclass);
  const interfaces = [
    attributesInterface(context, dataclass, uses),
    ...(object === undefined ? [] : [object]),
    valuesInterface(context, dataclass, uses),
  ];
  const classes = classLevels.map((level) => {
    const written = writtenMembers(model, classNames, dataclass, level);
    for (const each of [parents[level], ...written.flatMap((member) => member.uses)])
      uses.add(each);
    const members = [
      ...dataclass.attributes.flatMap((each) => declared(context, dataclass, level, each, uses)),
      ...abstractMembers(written),
    ];
    const head = `export abstract class ${names.base[level]} extends ${parents[level]}<${names.types}>`;
    return {
      doc: docComment(level === 'dataclass' ? dataclass.description : undefined),
      code: `${head} {${members.length === 0 ? '' : `\n${members.join('\n')}\n`}}`,
      own: byUser.includes(level)
        ? []
        : [`export class ${names.written[level]} extends ${names.base[level]} {}`],
    };
  });
  const all = model.dataclasses.flatMap(({ attributes }) => attributes);
  const decimals = decimalNames(dataclass.attributes, all);
  const file = `generated/classes/${names.file}`;
  return {
    header: context.header,
    imports: importsOf(namePlaces, file, uses, new Set(Object.values(parents))),
    name: dataclass.name,
    types: names.types,
    typeMembers: [
      field('readonly', 'ds', 'DataStore'),
      field('readonly', 'name', stringLiteral(dataclass.name)),
      field('readonly', 'key', keyType(model, dataclass)),
      field('readonly', 'values', names.values),
      field('readonly', 'object', object === undefined ? names.attributes : names.object),
      field('readonly', 'entity', names.written.entity),
      field('readonly', 'selection', names.written.selection),
      field('readonly', 'attributes', names.attributes),
      ...(decimals === undefined ? [] : [field('readonly', 'decimals', decimals)]),
    ],
    interfaces,
    doc: docComment(dataclass.description),
    classes,
  };
}

/** Members that the runtime defines on the prototype of a base class. */
function declared(
  context: EmitContext,
  dataclass: Dataclass,
  level: ClassLevel,
  attribute: Attribute,
  uses: Set<string>,
): readonly string[] {
  if (level === 'dataclass') return [];
  const { model, classNames } = context;
  const line = (head: string, type: { text: string; uses: readonly string[] }): string[] => {
    for (const each of type.uses) uses.add(each);
    return [field(head, memberOf(attribute), type.text, attribute.description)];
  };
  if ('target' in attribute) {
    const target = classNames.of(targetOf(model, attribute));
    if (level === 'entity' && attribute.kind === 'relationAlias' && !attribute.many) {
      const text = `AliasedEntity<${target.types}>`;
      return line('declare readonly', { text, uses: ['AliasedEntity', target.types] });
    }
    if (level === 'entity' && attribute.kind === 'relatedEntity') {
      const by = attribute.references === undefined ? '' : `, ${referenceType(model, attribute)}`;
      const text = `RelatedEntity<${target.types}${by}>`;
      return line('declare readonly', { text, uses: ['RelatedEntity', target.types] });
    }
    return line('declare readonly', named(target.written.selection));
  }
  if (level === 'selection') return [];
  // Accessors are abstract members.
  if (attribute.kind === 'computed' && attribute.expression === undefined) return [];
  const type = attributeType(model, dataclass, attribute);
  if (type.text === 'Media') return line('declare readonly', type);
  const isWritten = attribute.kind === 'storage';
  return line(
    isWritten ? 'declare' : 'declare readonly',
    isAlwaysThere(attribute) ? type : orNull(type),
  );
}

/** An interface whose members are attributes. */
interface InterfaceView {
  readonly doc: string;
  readonly name: string;
  readonly members: readonly string[];
}

/** Attributes with one value each, as they are read; bytes are read on their own. */
function attributesInterface(
  { model, classNames }: EmitContext,
  dataclass: Dataclass,
  uses: Set<string>,
): InterfaceView {
  return {
    doc: '/** Attributes of one value each, as they are read. */',
    name: classNames.of(dataclass).attributes,
    members: dataclass.attributes.flatMap((attribute) => {
      const type = singleValue(model, dataclass, attribute);
      return type === undefined ? [] : [field('readonly', attribute.name, used(type, uses))];
    }),
  };
}

/** The values that a new entity can get. */
function valuesInterface(
  { model, classNames }: EmitContext,
  dataclass: Dataclass,
  uses: Set<string>,
): InterfaceView {
  return {
    doc: '/** What can be written, as `new()` and `fromObject()` take it. */',
    name: classNames.of(dataclass).values,
    members: dataclass.attributes.flatMap((attribute) => {
      if (attribute.kind === 'relatedEntity') {
        const target = targetOf(model, attribute);
        const { entity } = classNames.of(target).written;
        const text = `${entity} | ${referenceType(model, attribute)} | null`;
        return [field('?', attribute.name, used({ text, uses: [entity] }, uses))];
      }
      const type = writtenValue(model, dataclass, attribute);
      const isWritten =
        attribute.kind === 'storage' ||
        (attribute.kind === 'computed' && attribute.accessors.includes('set'));
      return type === undefined || !isWritten ? [] : [field('?', attribute.name, used(type, uses))];
    }),
  };
}

function singleValue(
  model: Model,
  dataclass: Dataclass,
  attribute: Attribute,
): TypeText | undefined {
  if ('target' in attribute) return undefined;
  const type = attributeType(model, dataclass, attribute);
  if (type.text === 'Media') return undefined;
  return isAlwaysThere(attribute) ? type : orNull(type);
}

/** Bytes are set as they are; an object may be a list. */
function writtenValue(
  model: Model,
  dataclass: Dataclass,
  attribute: Attribute,
): TypeText | undefined {
  const type = singleValue(model, dataclass, attribute);
  if (attribute.kind !== 'storage') return type;
  if (isLarge(attribute.type)) return { text: 'Uint8Array | null', uses: [] };
  if (attribute.type !== 'object') return type;
  const written = { text: 'JsonObject | readonly JsonValue[]', uses: ['JsonObject', 'JsonValue'] };
  return isAlwaysThere(attribute) ? written : orNull(written);
}

/** The result of `toObject()`: attributes of one value each, and the key of each to-one relation. */
function objectInterface(
  { model, classNames }: EmitContext,
  dataclass: Dataclass,
): InterfaceView | undefined {
  const names = classNames.of(dataclass);
  const relations = dataclass.attributes.filter(
    (each): each is RelatedEntityAttribute | RelationAliasAttribute =>
      'target' in each && !leadsToMany(each),
  );
  if (relations.length === 0) return undefined;
  return {
    doc: '/** What `toObject()` gives: attributes of one value each, and the key of each related entity. */',
    name: `${names.object} extends ${names.attributes}`,
    members: relations.map((relation) => {
      if (relation.kind === 'relationAlias') {
        const key = keyType(model, targetOf(model, relation));
        return field('readonly', relation.name, `${key} | null`);
      }
      const key = referenceType(model, relation);
      return field('readonly', relation.name, relation.mandatory ? key : `${key} | null`);
    }),
  };
}

function used({ text, uses }: TypeText, all: Set<string>): string {
  for (const each of uses) all.add(each);
  return text;
}

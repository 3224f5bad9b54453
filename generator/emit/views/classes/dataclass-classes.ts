import { targetOf } from '../../../model/lookup.js';
import type { Attribute, Dataclass } from '../../../model/model.js';
import { abstractMembers, writtenMembers } from '../../classes/abstract-members.js';
import { type ClassLevel, classLevels, writtenClasses } from '../../classes/class-code.js';
import { field } from '../../classes/members.js';
import { importsOf } from '../../classes/places.js';
import { attributeType, isAlwaysThere, keyType, named, orNull } from '../../classes/type-text.js';
import type { EmitContext } from '../../context.js';
import { docComment, stringLiteral } from '../../layout.js';
import { attributesInterface, objectInterface, valuesInterface } from './value-interfaces.js';

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
    return [field(head, attribute.name, type.text, attribute.description)];
  };
  if (attribute.kind === 'relatedEntity' || attribute.kind === 'relatedEntities') {
    const target = classNames.of(targetOf(model, attribute));
    if (level === 'entity' && attribute.kind === 'relatedEntity') {
      const text = `RelatedEntity<${target.types}>`;
      return line('declare readonly', { text, uses: ['RelatedEntity', target.types] });
    }
    return line('declare readonly', named(target.written.selection));
  }
  if (level === 'selection') return [];
  // Accessors are abstract members.
  if (attribute.kind === 'calculated' && attribute.expression === undefined) return [];
  const type = attributeType(model, dataclass, attribute);
  if (type.text === 'Media') return line('declare readonly', type);
  const isWritten = attribute.kind === 'storage';
  return line(
    isWritten ? 'declare' : 'declare readonly',
    isAlwaysThere(attribute) ? type : orNull(type),
  );
}

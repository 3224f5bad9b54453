import { targetOf } from '../../../model/lookup.js';
import type { Attribute, Dataclass, Model } from '../../../model/model.js';
import { field } from '../../classes/members.js';
import {
  attributeType,
  isAlwaysThere,
  keyType,
  orNull,
  type TypeText,
} from '../../classes/type-text.js';
import type { EmitContext } from '../../context.js';
import { isLarge } from '../../../model/columns.js';

/** An interface whose members are attributes. */
export interface InterfaceView {
  readonly doc: string;
  readonly name: string;
  readonly members: readonly string[];
}

/** Attributes with one value each, as they are read; bytes are read on their own. */
export function attributesInterface(
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
export function valuesInterface(
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
        const text = `${entity} | ${keyType(model, target)} | null`;
        return [field('?', attribute.name, used({ text, uses: [entity] }, uses))];
      }
      const type = writtenValue(model, dataclass, attribute);
      const isWritten =
        attribute.kind === 'storage' ||
        (attribute.kind === 'calculated' && attribute.accessors.includes('set'));
      return type === undefined || !isWritten ? [] : [field('?', attribute.name, used(type, uses))];
    }),
  };
}

function singleValue(
  model: Model,
  dataclass: Dataclass,
  attribute: Attribute,
): TypeText | undefined {
  if (attribute.kind === 'relatedEntity' || attribute.kind === 'relatedEntities') return undefined;
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

/** The result of `toObject()`: the same, and the key of each to-one relation. */
export function objectInterface(
  { model, classNames }: EmitContext,
  dataclass: Dataclass,
): InterfaceView | undefined {
  const names = classNames.of(dataclass);
  const relations = dataclass.attributes.filter((each) => each.kind === 'relatedEntity');
  if (relations.length === 0) return undefined;
  return {
    doc: '/** What `toObject()` gives: the same, and the key of each related entity. */',
    name: `${names.object} extends ${names.attributes}`,
    members: relations.map((relation) => {
      const key = keyType(model, targetOf(model, relation));
      return field('readonly', relation.name, relation.mandatory ? key : `${key} | null`);
    }),
  };
}

function used({ text, uses }: TypeText, all: Set<string>): string {
  for (const each of uses) all.add(each);
  return text;
}

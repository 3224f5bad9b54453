import { leadsToMany } from '../../dataclass/attribute-path.js';
import { memberName } from '../../protocol/definition.js';
import { AttributeError } from './failure.js';
import type { EntityState } from './entity-state.js';
import { setMedia } from './media-handle.js';
import { setRelated } from './related-entity.js';

type PlainObject = Readonly<Record<string, unknown>>;

/** The attributes of an entity as a plain object (see `Entity.toObject`). */
export function plainObject(state: EntityState, entity: object): PlainObject {
  const { dataclass, layout } = state.code;
  const members: [string, unknown][] = [];
  for (const attribute of dataclass.attributes) {
    const { kind, name } = attribute;
    const member = memberName(attribute);
    if (kind === 'computed') {
      if (state.isReadable(name)) members.push([member, (entity as PlainObject)[member]]);
    } else if (attribute.kind === 'relatedEntity') {
      if (!state.isReadable(name)) continue;
      members.push([member, state.foreignKey(layout.field(dataclass.foreignKey(attribute).name))]);
    } else if (!leadsToMany(attribute)) {
      const field = layout.field(name);
      if (!field.isMedia && state.isReadableField(field)) members.push([member, state.get(field)]);
    }
  }
  return Object.fromEntries(members);
}

/** Sets attributes from an object (see `Entity.fromObject`). */
export function givenValues(state: EntityState, entity: object, values: object): void {
  for (const [name, value] of Object.entries(values as PlainObject)) {
    if (value === undefined) continue;
    checkOnlyName(state, values, name);
    give(state, entity, name, value);
  }
}

/** The name for clients is accepted, too, but not beside the one for class code. */
function checkOnlyName(state: EntityState, values: object, name: string): void {
  const { dataclass } = state.code;
  const member = dataclass.attributesInCode.get(name)?.member;
  if (member === undefined || member === name) return;
  if ((values as PlainObject)[member] === undefined) return;
  throw new AttributeError(dataclass.name, member, `is given twice, as ${name} too`);
}

function give(state: EntityState, entity: object, name: string, value: unknown): void {
  const { dataclass, layout } = state.code;
  const attribute = dataclass.attributesInCode.get(name);
  if (attribute?.kind === 'relatedEntity') {
    setRelated(state, attribute, value);
  } else if (attribute?.kind === 'relationAlias') {
    throw new AttributeError(dataclass.name, name, 'is an alias, so it cannot be set');
  } else if (attribute?.kind === 'relatedEntities') {
    const predicate = 'is a relation to many: set the relation of each of them';
    throw new AttributeError(dataclass.name, name, predicate);
  } else if (attribute?.kind === 'computed') {
    if (!attribute.accessors.includes('set')) {
      throw new AttributeError(dataclass.name, name, 'is computed, so it cannot be set');
    }
    (entity as Record<string, unknown>)[memberName(attribute)] = value;
  } else {
    const field = layout.named(name);
    if (field.isMedia) setMedia(state, field, value);
    else state.set(field, value);
  }
}

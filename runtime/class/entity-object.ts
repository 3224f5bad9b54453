import type { AttributeDefinition } from '../protocol/definition.js';
import { AttributeError } from './failure.js';
import type { Field } from './entity-layout.js';
import type { EntityState } from './entity-state.js';
import { setMedia } from './media-handle.js';
import { isReadable, isReadableField } from './readable.js';
import { setRelated } from './related-entity.js';

type PlainObject = Readonly<Record<string, unknown>>;

/** The attributes of an entity as a plain object (see `Entity.toObject`). */
export function plainObject(state: EntityState, entity: object): PlainObject {
  const { dataclass } = state.code;
  const members: [string, unknown][] = [];
  for (const attribute of dataclass.attributes) {
    const member = plainValue(state, entity, attribute);
    if (member !== undefined) members.push([attribute.name, member.value]);
  }
  return Object.fromEntries(members);
}

function plainValue(
  state: EntityState,
  entity: object,
  attribute: AttributeDefinition,
): { readonly value: unknown } | undefined {
  const { layout, dataclass } = state.code;
  switch (attribute.kind) {
    case 'storage':
    case 'calculated':
    case 'alias': {
      const field = layout.field(attribute.name);
      return field.isMedia ? undefined : readValue(state, field);
    }
    case 'computed':
      return isReadable(state, attribute.name)
        ? { value: (entity as PlainObject)[attribute.name] }
        : undefined;
    case 'relatedEntity':
      return isReadable(state, attribute.name)
        ? { value: state.foreignKey(layout.field(dataclass.foreignKey(attribute).name)) }
        : undefined;
    case 'relatedEntities':
      return undefined;
  }
}

function readValue(state: EntityState, field: Field): { readonly value: unknown } | undefined {
  return isReadableField(state, field) ? { value: state.get(field) } : undefined;
}

/** Sets attributes from an object (see `Entity.fromObject`). */
export function givenValues(state: EntityState, entity: object, values: object): void {
  for (const name of Object.keys(values)) {
    const value = (values as PlainObject)[name];
    if (value !== undefined) give(state, entity, name, value);
  }
}

function give(state: EntityState, entity: object, name: string, value: unknown): void {
  const { dataclass, layout } = state.code;
  const attribute = dataclass.allAttributes.get(name);
  if (attribute?.kind === 'relatedEntity') {
    setRelated(state, attribute, value);
  } else if (attribute?.kind === 'relatedEntities') {
    const predicate = 'is a relation to many: set the relation of each of them';
    throw new AttributeError(dataclass.name, name, predicate);
  } else if (attribute?.kind === 'computed') {
    if (!attribute.accessors.includes('set')) {
      throw new AttributeError(dataclass.name, name, 'is computed, so it cannot be set');
    }
    (entity as Record<string, unknown>)[name] = value;
  } else {
    const field = layout.named(name);
    if (field.isMedia) setMedia(state, field, value);
    else state.set(field, value);
  }
}

import type { Dataclass } from '../dataclass/dataclasses.js';
import { computedOf } from '../class-code/computed-values.js';
import { stateOf } from '../class/entity-holder.js';
import type { EntityState } from '../class/entity-state.js';
import { jsonValue } from '../class/typed-value.js';
import type { AttributeDefinition, RelatedEntityDefinition } from '../protocol/definition.js';
import type { StoredValue } from '../protocol/values.js';
import { uriKey } from '../protocol/uri.js';
import type { AnswerOptions } from '../query/context.js';
import type { Projection } from '../query/projection.js';
import { plainValue } from './plain-value.js';

type Members = Record<string, unknown>;

/** What an entity object is written by. */
export interface MemoryForm {
  /** As the session sees it. */
  readonly dataclass: Dataclass;
  readonly projection: Projection;
  readonly options: Pick<AnswerOptions, 'dateOnlyFormat'>;
}

/**
 * An entity that is not stored as it is, as far as memory knows it: relations are deferred, a to-many relation and an image or
 * BLOB of an entity without a URI are null, and so is what only the database computes.
 */
export function entityInMemory(entity: object, form: MemoryForm): Members {
  const state = stateOf(entity);
  const { key } = state;
  const members: [string, unknown][] = [
    ['__KEY', key === null ? null : String(key)],
    ['__TIMESTAMP', null],
    ['__STAMP', state.stamp],
  ];
  for (const { attribute } of form.projection.fields) {
    members.push([attribute.name, memberOf(entity, state, attribute, form)]);
  }
  return Object.fromEntries(members);
}

/**
 * Puts what was set in an entity object and not saved in the place of what is stored.
 * @param read the entity as it was read
 */
export function withChanges(read: Members, entity: object, form: MemoryForm): Members {
  const state = stateOf(entity);
  const members = { ...read };
  for (const { attribute } of form.projection.fields) {
    const { layout } = state.code;
    const name = attribute.kind === 'relatedEntity' ? attribute.foreignKey : attribute.name;
    const field = layout.find(name);
    if (attribute.kind === 'computed') {
      members[attribute.name] = memberOf(entity, state, attribute, form);
    } else if (field !== undefined && !field.isMedia && state.isTouched(field)) {
      members[attribute.name] = memberOf(entity, state, attribute, form);
    }
  }
  return members;
}

function memberOf(
  entity: object,
  state: EntityState,
  attribute: AttributeDefinition,
  form: MemoryForm,
): unknown {
  switch (attribute.kind) {
    case 'storage': {
      const field = state.code.layout.field(attribute.name);
      if (field.isMedia) return null;
      const value = jsonValue(attribute, state.stored(field));
      return attribute.dateOnly === true ? shownDay(value, form) : value;
    }
    case 'calculated':
    case 'alias': {
      const field = state.code.layout.field(attribute.name);
      if (field.isMedia) return null;
      const value = plainValue(state.get(field), () => undefined);
      return attribute.dateOnly === true ? shownDay(value, form) : value;
    }
    case 'computed':
      return computedOf(attribute, entity, form.options);
    case 'relatedEntity':
      return deferred(state, attribute, form.dataclass);
    case 'relatedEntities':
      return null;
  }
}

/** As protocol decision 7 has it. */
function deferred(
  state: EntityState,
  relation: RelatedEntityDefinition,
  dataclass: Dataclass,
): unknown {
  const key = state.stored(state.code.layout.field(relation.foreignKey));
  if (!isKey(key)) return null;
  const target = dataclass.target(relation).name;
  const uri = `/rest/${encodeURIComponent(target)}(${uriKey(String(key))})`;
  return { __deferred: { uri, __KEY: String(key) } };
}

function isKey(value: StoredValue): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}

/** Protocol decision 8. */
function shownDay(value: unknown, { options }: MemoryForm): unknown {
  if (typeof value !== 'string' || options.dateOnlyFormat === 'iso') return value;
  const [year, month, day] = value.split('-');
  return `${Number(day)}!${Number(month)}!${year}`;
}

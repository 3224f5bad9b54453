import {
  memberName,
  type RelatedEntityDefinition,
  type RelationAliasDefinition,
} from '../../protocol/definition.js';
import { AttributeError } from './failure.js';
import type { Field } from './entity-rows.js';
import { type EntityState, findState } from './entity-state.js';
import type { AliasedEntity, EntityObject, EntityTypes, RelatedEntity } from './types.js';

/** A to-one relation of one entity object. */
export class RelatedEntityHandle<T extends EntityTypes> implements RelatedEntity<T> {
  readonly #state: EntityState;
  readonly #relation: RelatedEntityDefinition;

  constructor(state: EntityState, relation: RelatedEntityDefinition) {
    this.#state = state;
    this.#relation = relation;
  }

  get key(): T['key'] | null {
    const field = foreignKeyField(this.#state, this.#relation);
    if (!this.#state.isTouched(field)) this.#state.requireReadable(this.#relation.name);
    return this.#state.typed(field) as T['key'] | null;
  }

  async get(): Promise<T['entity'] | null> {
    return loadOnce(this.#state, this.key, this.#relation);
  }

  set(related: T['entity'] | T['key'] | null): void {
    setRelated(this.#state, this.#relation, related);
  }
}

/** An alias over to-one relations of one entity object. */
export class AliasedEntityHandle<T extends EntityTypes> implements AliasedEntity<T> {
  readonly #state: EntityState;
  readonly #alias: RelationAliasDefinition;

  constructor(state: EntityState, alias: RelationAliasDefinition) {
    this.#state = state;
    this.#alias = alias;
  }

  get key(): T['key'] | null {
    return this.#state.get(this.#state.code.layout.field(this.#alias.name)) as T['key'] | null;
  }

  async get(): Promise<T['entity'] | null> {
    return loadOnce(this.#state, this.key, this.#alias);
  }
}

/**
 * Reads a related entity, unless the entity object knows it already.
 * @param key by which the relation leads to it
 */
async function loadOnce(
  state: EntityState,
  key: string | number | null,
  relation: RelatedEntityDefinition | RelationAliasDefinition,
): Promise<EntityObject | null> {
  if (key === null) return null;
  const { name, target } = relation;
  const known = state.related(name, key);
  if (known !== undefined) return known;
  const references = relation.kind === 'relatedEntity' ? relation.references : undefined;
  const entity = await state.code.host.codeOf(target).load(key, references);
  if (entity === undefined) return null;
  // Other code may have read or set it meanwhile: then all get that object.
  const since = state.related(name, key);
  if (since !== undefined) return since;
  state.keepRelated(name, key, entity);
  return entity;
}

/**
 * Sets a to-one relation.
 * @param value an entity that is saved, a key, or null
 * @throws AttributeError for anything else
 */
export function setRelated(
  state: EntityState,
  relation: RelatedEntityDefinition,
  value: unknown,
): void {
  const field = foreignKeyField(state, relation);
  const related = typeof value === 'object' && value !== null ? findState(value) : undefined;
  if (related === undefined) {
    setKey(state, field, relation, value);
    return;
  }
  const { name } = state.code.dataclass;
  const { dataclass, host } = related.code;
  if (dataclass.name !== relation.target) {
    const predicate = `leads to entities of ${relation.target}, not of ${dataclass.name}`;
    throw new AttributeError(name, memberName(relation), predicate);
  }
  if (host !== state.code.host) {
    throw new AttributeError(
      name,
      memberName(relation),
      'cannot lead to an entity of another datastore',
    );
  }
  if (related.isNew || related.key === null) {
    const predicate = `cannot lead to an entity of ${dataclass.name} that is not saved: save it first`;
    throw new AttributeError(name, memberName(relation), predicate);
  }
  const key = referredValue(related, relation);
  if (key === null) {
    const predicate = `cannot lead to an entity of ${dataclass.name} without ${relation.references ?? 'a key'}`;
    throw new AttributeError(name, memberName(relation), predicate);
  }
  state.setByCode(field, key);
  state.keepRelated(relation.name, key, value as EntityObject);
}

/** What a relation to a stored entity holds: the key, or the attribute that it references, as they are stored. */
export function referredValue(
  related: EntityState,
  { references }: RelatedEntityDefinition,
): string | number | null {
  const { layout } = related.code;
  return related.read(references === undefined ? layout.key : layout.field(references));
}

function setKey(
  state: EntityState,
  field: Field,
  relation: RelatedEntityDefinition,
  key: unknown,
): void {
  try {
    state.set(field, key);
  } catch (error) {
    if (!(error instanceof AttributeError)) throw error;
    const { name } = state.code.dataclass;
    const { references = 'key' } = relation;
    const predicate = `is set to an entity of ${relation.target}, its ${references} or null; as a ${references}, it ${error.predicate}`;
    throw new AttributeError(name, memberName(relation), predicate);
  }
}

function foreignKeyField({ code }: EntityState, relation: RelatedEntityDefinition): Field {
  return code.layout.field(code.dataclass.foreignKey(relation).name);
}

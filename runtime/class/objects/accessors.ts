import { isRelation, leadsToMany } from '../../dataclass/attribute-path.js';
import type { Dataclass } from '../../dataclass/dataclasses.js';
import {
  memberName,
  type RelatedEntityDefinition,
  type RelationAliasDefinition,
} from '../../protocol/definition.js';
import type { DataclassContext } from './context.js';
import { Entity } from './entity.js';
import type { Field } from './entity-rows.js';
import { stateOf } from './entity-state.js';
import { MediaHandle } from './media-handle.js';
import { AliasedEntityHandle, RelatedEntityHandle } from './related-entity.js';
import { EntitySelection, nodeOf, selectionOf } from './selection.js';
import { entityOf, ofKeys, reachedFrom } from './selection-node.js';

/** A prototype is a plain object; the emitted class describes its members. */
interface Accessor {
  get(this: object): unknown;
  set?(this: object, value: unknown): void;
}

/** Names of attributes that are members of every entity, too. */
const ownMembers: ReadonlySet<string> = new Set(['key', 'session', 'stamp']);

/** The class of entities or selections that a user wrote, or the emitted one. */
interface ObjectClass {
  readonly prototype: object;
}

/**
 * Adds the attributes of a dataclass to its entities, once: to the prototype of the emitted base
 * class, so that a user's class may have more. They know the model and no server: several may run in
 * one process.
 */
export function defineEntityMembers(
  { dataclass, layout }: Pick<DataclassContext, 'dataclass' | 'layout'>,
  userClass: ObjectClass,
): void {
  const prototype = prototypeBelow(userClass.prototype, Entity.prototype);
  for (const attribute of dataclass.attributes) {
    const { name } = attribute;
    const inCode = memberName(attribute);
    const member = ownMembers.has(inCode) ? `${inCode}_` : inCode;
    if (Object.hasOwn(prototype, member)) continue;
    if (attribute.kind === 'relatedEntity') define(prototype, member, relationAccessor(attribute));
    else if (leadsToMany(attribute)) define(prototype, member, manyAccessor(name));
    else if (attribute.kind === 'relationAlias')
      define(prototype, member, aliasAccessor(attribute));
    else if (attribute.kind !== 'computed') {
      define(prototype, member, valueAccessor(layout.field(name)));
    }
  }
}

/** Adds the relations of a dataclass to its selections, as {@link defineEntityMembers} does. */
export function defineSelectionMembers(dataclass: Dataclass, userClass: ObjectClass): void {
  const prototype = prototypeBelow(userClass.prototype, EntitySelection.prototype);
  for (const attribute of dataclass.attributes) {
    const member = memberName(attribute);
    if (!isRelation(attribute) || Object.hasOwn(prototype, member)) continue;
    define(prototype, member, relatedSelectionAccessor(attribute.name));
  }
}

function define(prototype: object, name: string, accessor: Accessor): void {
  Object.defineProperty(prototype, name, { ...accessor, enumerable: true, configurable: true });
}

/** The prototype of the emitted class, which directly extends the runtime's. */
function prototypeBelow(prototype: object, own: object): object {
  const parent = Object.getPrototypeOf(prototype) as object | null;
  if (parent === null) throw new Error('A class of the registry does not extend its base class.');
  return parent === own ? prototype : prototypeBelow(parent, own);
}

function valueAccessor(field: Field): Accessor {
  const { name } = field.attribute;
  const { index } = field;
  if (field.isMedia) {
    return {
      get() {
        const state = stateOf(this);
        return new MediaHandle(state, state.code.layout.at(index));
      },
    };
  }
  const get = function (this: object): unknown {
    const state = stateOf(this);
    return state.get(state.code.layout.at(index));
  };
  if (field.attribute.kind !== 'storage') return { get };
  return {
    get,
    set(value) {
      const state = stateOf(this);
      state.set(state.code.layout.field(name), value);
    },
  };
}

function relationAccessor(relation: RelatedEntityDefinition): Accessor {
  return {
    get() {
      return new RelatedEntityHandle(stateOf(this), relation);
    },
  };
}

function aliasAccessor(alias: RelationAliasDefinition): Accessor {
  return {
    get() {
      return new AliasedEntityHandle(stateOf(this), alias);
    },
  };
}

function manyAccessor(name: string): Accessor {
  return {
    get() {
      const { code, isNew, key } = stateOf(this);
      const relation = code.dataclass.allAttributes.get(name);
      if (relation === undefined || !leadsToMany(relation)) {
        throw new Error(`${name} is no relation to many.`);
      }
      const target = code.host.codeOf(relation.target);
      return target.select(
        isNew || key === null
          ? ofKeys(target.dataclass, [])
          : reachedFrom(entityOf(code.dataclass, key), relation),
      );
    },
  };
}

/** The entities to which a relation leads from those of a selection, each once. */
function relatedSelectionAccessor(name: string): Accessor {
  return {
    get() {
      const state = selectionOf(this);
      const relation = state.code.dataclass.allAttributes.get(name);
      if (relation === undefined || !isRelation(relation)) {
        throw new Error(`${name} is no relation.`);
      }
      const target = state.code.host.codeOf(relation.target);
      return target.select(reachedFrom(nodeOf(state), relation));
    },
  };
}

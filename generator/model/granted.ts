import { attributeNamed, targetOf } from './lookup.js';
import type {
  Attribute,
  ClassFunction,
  Dataclass,
  Model,
  RelatedEntitiesAttribute,
  Roles,
} from './model.js';

/** The holder of one role, of one privilege, or of nothing; a guest is not even logged in. */
export interface Holder {
  readonly name: string;
  readonly kind: 'guest' | 'user' | 'role' | 'privilege';
  /** Folded names of all privileges held. */
  readonly held: ReadonlySet<string>;
}

type DataAction = 'create' | 'read' | 'update' | 'drop' | 'describe';

/** The type of a resource and its name, as permissions name it. */
type Resource = readonly [type: string, name: string];

/**
 * Who may do what, computed each time from the roles as they are written, by the rules of
 * `model.md#roles`. `inspect --access` prints it, and the access test of a server expects it, so it
 * shares nothing with the code that resolves roles for the server.
 */
export class Granted {
  /** Folded names, by action and resource. */
  readonly #said = new Map<string, readonly string[]>();

  constructor(
    private readonly model: Model,
    private readonly roles: Roles,
  ) {
    for (const { type, applyTo, actions } of roles.permissions) {
      for (const [action, names] of Object.entries(actions)) {
        this.#said.set(`${action} ${type} ${applyTo}`, names.map(folded));
      }
    }
  }

  /** A guest, a user without grants, each role, and each privilege except the built-in ones. */
  holders(): readonly Holder[] {
    const nothing = this.#held([]);
    return [
      { name: 'guest', kind: 'guest', held: nothing },
      { name: 'user', kind: 'user', held: nothing },
      ...this.roles.roles.map(({ name, privileges }) => ({
        name,
        kind: 'role' as const,
        held: this.#held(privileges),
      })),
      ...this.roles.privileges
        .filter(({ name }) => !builtIn.includes(folded(name)))
        .map(({ name }) => ({ name, kind: 'privilege' as const, held: this.#held([name]) })),
    ];
  }

  /** The holders without the privileges that grant the same as an earlier holder. */
  tried(): readonly Holder[] {
    const known = new Set<string>();
    return this.holders().filter(({ kind, held }) => {
      const isKnown = known.has(contents(held));
      known.add(contents(held));
      return kind !== 'privilege' || !isKnown;
    });
  }

  /**
   * What the holder may do with entities; `drop` with those of which every attribute has a value.
   */
  dataclass(dataclass: Dataclass, { held }: Holder, action: DataAction): boolean {
    if (!dataclass.exposed) return false;
    if (action === 'describe') return this.#describes(held, [['dataclass', dataclass.name]]);
    const isAllowed = this.#may(held, action, dataclass);
    if (action === 'drop') {
      return (
        isAllowed && dataclass.attributes.every((each) => this.#own(held, 'drop', dataclass, each))
      );
    }
    return isAllowed;
  }

  /** What the holder may do with the value of an attribute; `drop` sets it to null. */
  attribute(
    dataclass: Dataclass,
    attribute: Attribute,
    { held }: Holder,
    action: DataAction,
  ): boolean {
    if (!dataclass.exposed || !attribute.exposed) return false;
    const resource: Resource = ['attribute', `${dataclass.name}.${attribute.name}`];
    if (action === 'describe') {
      return this.#describes(held, [resource, ['dataclass', dataclass.name]]);
    }
    if ('target' in attribute && !this.#may(held, 'read', targetOf(this.model, attribute))) {
      return false;
    }
    const isRead = this.#may(held, 'read', dataclass) && this.#holdsOwn(held, 'read', resource);
    if (action === 'read') return isRead;
    const twins = [attribute, ...twinsOf(dataclass, attribute)];
    if (!isWritten(attribute) || twins.some(isReadOnly)) return false;
    if (!this.#own(held, action, dataclass, attribute)) return false;
    if (action === 'create') return this.#may(held, 'create', dataclass);
    const isUpdated =
      isRead &&
      this.#may(held, 'update', dataclass) &&
      this.#own(held, 'update', dataclass, attribute) &&
      attribute.name !== dataclass.key;
    return isUpdated && (action === 'update' || !twins.some(isMandatory));
  }

  /** Whether a save of the holder may create entities in the list of a to-many relation. */
  list(
    dataclass: Dataclass,
    relation: RelatedEntitiesAttribute,
    holder: Holder,
    action: 'create' | 'update',
  ): boolean {
    const { held } = holder;
    const target = targetOf(this.model, relation);
    const resource: Resource = ['attribute', `${dataclass.name}.${relation.name}`];
    return (
      this.attribute(target, attributeNamed(target, relation.inverse), holder, 'create') &&
      (action === 'create' || this.attribute(dataclass, relation, holder, 'read')) &&
      dataclass.exposed &&
      relation.exposed &&
      this.#may(held, 'read', target) &&
      this.#may(held, action, dataclass) &&
      this.#holdsOwn(held, action, resource)
    );
  }

  /** @param owner `ds`, or the name of a dataclass or of a singleton */
  execute(owner: string, each: ClassFunction, { held }: Holder): boolean {
    if (!each.exposed) return false;
    if (owner === 'ds' && each.name === 'authentify' && this.roles.forceLogin) return true;
    const isSingleton = this.model.singletons.some(({ name }) => name === owner);
    return this.#allows(held, 'execute', [
      [isSingleton ? 'singletonMethod' : 'method', `${owner}.${each.name}`],
      [isSingleton ? 'singleton' : 'dataclass', owner],
    ]);
  }

  describesFunction(owner: string, each: ClassFunction, { held }: Holder): boolean {
    if (!each.exposed) return false;
    const isSingleton = this.model.singletons.some(({ name }) => name === owner);
    return this.#describes(held, [
      [isSingleton ? 'singletonMethod' : 'method', `${owner}.${each.name}`],
      [isSingleton ? 'singleton' : 'dataclass', owner],
    ]);
  }

  #held(names: readonly string[]): ReadonlySet<string> {
    const held = new Set(['guest', ...names.map(folded)]);
    for (let size = 0; size !== held.size;) {
      size = held.size;
      for (const { name, includes } of this.roles.privileges) {
        if (folded(name) !== 'none' && held.has(folded(name))) {
          for (const each of includes) held.add(folded(each));
        }
      }
    }
    held.delete('none');
    return held;
  }

  /** A change and a deletion need `read`, too. */
  #may(
    held: Holder['held'],
    action: Exclude<DataAction, 'describe'>,
    dataclass: Dataclass,
  ): boolean {
    const needsRead = action === 'update' || action === 'drop';
    return (
      this.#allows(held, action, [['dataclass', dataclass.name]]) &&
      (!needsRead || this.#may(held, 'read', dataclass))
    );
  }

  /**
   * What an attribute needs in addition to its dataclass. A to-one relation and its foreign key are
   * one value.
   */
  #own(
    held: Holder['held'],
    action: DataAction,
    dataclass: Dataclass,
    attribute: Attribute,
  ): boolean {
    return [attribute, ...twinsOf(dataclass, attribute)].every(
      (each) =>
        !isWritten(each) ||
        (action === 'drop' && each.kind === 'computed') ||
        this.#holdsOwn(held, action, ['attribute', `${dataclass.name}.${each.name}`]),
    );
  }

  #holdsOwn(held: Holder['held'], action: DataAction, resource: Resource): boolean {
    const names = this.#named(action, resource);
    return names === undefined || names.some((name) => held.has(name));
  }

  /** The first of the resources with a list, or the datastore, decides. */
  #allows(held: Holder['held'], action: string, resources: readonly Resource[]): boolean {
    for (const resource of [...resources, ['datastore', 'ds'] as const]) {
      const names = this.#named(action, resource);
      if (names !== undefined) return names.some((name) => held.has(name));
    }
    return !this.roles.restrictedByDefault;
  }

  #describes(held: Holder['held'], resources: readonly Resource[]): boolean {
    const all = [...resources, ['datastore', 'ds'] as const];
    const names = all.flatMap((each) => this.#named('describe', each) ?? []);
    return names.some((name) => held.has(name));
  }

  #named(action: string, [type, name]: Resource): readonly string[] | undefined {
    return this.#said.get(`${action} ${type} ${name}`);
  }
}

/** Everybody holds `guest`, and nobody holds `none`. */
const builtIn: readonly string[] = ['guest', 'none'];

/**
 * Values that a client can set: an alias stands for another attribute, and an expression computes
 * its own.
 */
function isWritten(attribute: Attribute): boolean {
  const { kind } = attribute;
  if (kind === 'computed') return attribute.accessors.includes('set');
  return kind === 'relatedEntity' || kind === 'storage';
}

function isReadOnly(attribute: Attribute): boolean {
  return attribute.kind === 'storage' && attribute.readOnly;
}

function isMandatory(attribute: Attribute): boolean {
  return 'mandatory' in attribute && attribute.mandatory;
}

/** The relations of a foreign key, or the foreign key of a relation. */
function twinsOf({ attributes }: Dataclass, attribute: Attribute): readonly Attribute[] {
  const keyName = attribute.kind === 'relatedEntity' ? attribute.foreignKey : attribute.name;
  return attributes.filter(
    (each) =>
      each.name === keyName || (each.kind === 'relatedEntity' && each.foreignKey === keyName),
  );
}

function contents(held: ReadonlySet<string>): string {
  return JSON.stringify([...held].sort());
}

function folded(name: string): string {
  return name.toLowerCase();
}

import { attributeNamed, dataclassNamed } from '../../../generator/model/lookup.js';
import type {
  Attribute,
  Dataclass,
  JsonValue,
  RelatedEntitiesAttribute,
  RelatedEntityAttribute,
  StorageAttribute,
} from '../../../generator/model/model.js';
import type { RandomModel } from '../model/random-model.js';
import { compareValues } from './comparison.js';

/** An entity as the server has stored it. */
export interface Entity {
  readonly dataclass: Dataclass;
  readonly key: string | number;
  readonly timestamp: string;
  /** Values of storage attributes by name, in the form that is sent. */
  readonly stored: ReadonlyMap<string, JsonValue>;
}

/** An attribute that a client or an alias may end a path with. */
export type PathStep = Attribute | { readonly kind: 'stamp' };

/** What the server should hold: entities in memory, and what relations, expressions and aliases make of them. */
export class Store {
  readonly #entities = new Map<string, Entity[]>();
  count = 0;

  constructor(readonly random: RandomModel) {}

  get model(): RandomModel['model'] {
    return this.random.model;
  }

  add(entity: Entity): void {
    const list = [...this.all(entity.dataclass.name), entity];
    list.sort((a, b) => this.compareKeys(a, b));
    this.#entities.set(entity.dataclass.name, list);
    this.count += 1;
  }

  /** In the order of primary keys. */
  all(dataclass: string): readonly Entity[] {
    return this.#entities.get(dataclass) ?? [];
  }

  compareKeys(a: Entity, b: Entity): number {
    return compareValues(a.key, b.key, this.key(a.dataclass).type);
  }

  key(dataclass: Dataclass): StorageAttribute {
    return attributeNamed(dataclass, dataclass.key) as StorageAttribute;
  }

  target(relation: { readonly target: string }): Dataclass {
    return dataclassNamed(this.model, relation.target);
  }

  /** The entity at the other end of a to-one relation. */
  one(entity: Entity, relation: RelatedEntityAttribute): Entity | undefined {
    const key = entity.stored.get(relation.foreignKey) ?? null;
    if (key === null) return undefined;
    return this.all(relation.target).find((each) => each.key === key);
  }

  /** The entities of a to-many relation, in the order of their keys. */
  many(entity: Entity, relation: RelatedEntitiesAttribute): readonly Entity[] {
    const back = attributeNamed(this.target(relation), relation.inverse) as RelatedEntityAttribute;
    return this.all(relation.target).filter(
      (each) => each.stored.get(back.foreignKey) === entity.key,
    );
  }

  /** The value that an attribute without relation has; null where an alias leads nowhere. */
  value(entity: Entity, attribute: PathStep): JsonValue {
    switch (attribute.kind) {
      case 'stamp':
        return 1;
      case 'storage':
        return entity.stored.get(attribute.name) ?? null;
      case 'calculated':
        return (
          this.random.computes.get(attribute)?.((name) => entity.stored.get(name) ?? null) ?? null
        );
      case 'relatedEntity':
        return entity.stored.get(attribute.foreignKey) ?? null;
      case 'alias': {
        let here: Entity | undefined = entity;
        const steps = this.steps(entity.dataclass, [attribute.name]);
        for (const step of steps.slice(0, -1)) {
          if (here !== undefined) here = this.one(here, step as RelatedEntityAttribute);
        }
        return here === undefined ? null : this.value(here, steps.at(-1) as PathStep);
      }
      case 'relatedEntities':
        throw new Error('A to-many relation has no value.');
    }
  }

  /** A path of names as attributes, aliases replaced by what they stand for. */
  steps(dataclass: Dataclass, names: readonly string[]): PathStep[] {
    const steps: PathStep[] = [];
    let here = dataclass;
    for (const name of names) {
      if (name === '__STAMP') return [...steps, { kind: 'stamp' }];
      const attribute = name === '__KEY' ? this.key(here) : attributeNamed(here, name);
      if (attribute.kind === 'alias') return [...steps, ...this.steps(here, attribute.path)];
      steps.push(attribute);
      if (attribute.kind === 'relatedEntity' || attribute.kind === 'relatedEntities') {
        here = this.target(attribute);
      }
    }
    return steps;
  }
}

import { attributeNamed, dataclassNamed } from '../../../generator/model/lookup.js';
import type {
  AggregateAttribute,
  Attribute,
  Dataclass,
  JsonValue,
  RelatedEntitiesAttribute,
  RelatedEntityAttribute,
  RelationAliasAttribute,
  StorageAttribute,
} from '../../../generator/model/model.js';
import type { RandomModel } from '../../support/random-model/random-model.js';
import {
  compareValues,
  type Fold,
  folded,
  foldedWithoutAccents,
  ofDecimals,
} from './comparison.js';
import type { WrittenStep } from './filter.js';
import { elementMove, type Move, movesOf, valuesAt } from './property.js';
import type { TextRules } from './text-match.js';

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

export interface Relation {
  readonly attribute: RelatedEntityAttribute | RelatedEntitiesAttribute;
  /** 1 when none is written. */
  readonly ordinal: number;
}

/** A path as attributes, with aliases replaced by their paths. */
export interface Way {
  readonly relations: readonly Relation[];
  readonly end: PathStep;
  /** The number after a relation at the end of the path. */
  readonly endOrdinal: number;
  /** The path inside the object at the end. */
  readonly moves: readonly Move[];
}

/** An entity of the last to-many relation of an aggregate, and the one at the end of its path. */
interface Row {
  readonly counted: Entity;
  readonly end: Entity | undefined;
}

/**
 * The expected state of the server: entities in memory, with their relations, expressions and
 * aliases.
 */
export class Store {
  readonly #entities = new Map<string, Entity[]>();
  count = 0;

  constructor(readonly random: RandomModel) {}

  get model(): RandomModel['model'] {
    return this.random.model;
  }

  get fold(): Fold {
    return this.model.protocol.accentInsensitive ? foldedWithoutAccents : folded;
  }

  get textRules(): TextRules {
    return { fold: this.fold, wildcard: this.model.protocol.wildcard };
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
    return compareValues(a.key, b.key, this.key(a.dataclass).type, this.fold);
  }

  key(dataclass: Dataclass): StorageAttribute {
    return attributeNamed(dataclass, dataclass.key) as StorageAttribute;
  }

  target(relation: { readonly target: string }): Dataclass {
    return dataclassNamed(this.model, relation.target);
  }

  /** The entity at the other end of a to-one relation. */
  one(
    entity: Entity,
    relation: RelatedEntityAttribute | RelationAliasAttribute,
  ): Entity | undefined {
    if (relation.kind === 'relationAlias') return this.#reached(entity, relation)[0];
    const key = entity.stored.get(relation.foreignKey) ?? null;
    if (key === null) return undefined;
    return this.all(relation.target).find((each) => each.key === key);
  }

  /** The entities of a to-many relation, in the order of their keys. */
  many(
    entity: Entity,
    relation: RelatedEntitiesAttribute | RelationAliasAttribute,
  ): readonly Entity[] {
    if (relation.kind === 'relationAlias') return this.#reached(entity, relation);
    const back = attributeNamed(this.target(relation), relation.inverse) as RelatedEntityAttribute;
    return this.all(relation.target).filter(
      (each) => each.stored.get(back.foreignKey) === entity.key,
    );
  }

  /** The entities at the end of an alias, each once, in the order of their keys. */
  #reached(entity: Entity, { path, target }: RelationAliasAttribute): readonly Entity[] {
    let here = [entity];
    for (const name of path) {
      here = here.flatMap((each) => {
        const relation = attributeNamed(each.dataclass, name);
        if (relation.kind === 'relatedEntities') return this.many(each, relation);
        const related = this.one(each, relation as RelatedEntityAttribute);
        return related === undefined ? [] : [related];
      });
    }
    const found = new Set(here);
    return this.all(target).filter((each) => found.has(each));
  }

  /** The value of an attribute that is not a relation; null if an alias leads to no entity. */
  value(entity: Entity, attribute: PathStep): JsonValue {
    switch (attribute.kind) {
      case 'stamp':
        return 1;
      case 'storage':
        return entity.stored.get(attribute.name) ?? null;
      case 'computed':
        return (
          this.random.computes.get(attribute)?.((name) => entity.stored.get(name) ?? null) ?? null
        );
      case 'relatedEntity':
        return entity.stored.get(attribute.foreignKey) ?? null;
      case 'aggregate':
        return this.#aggregate(entity, attribute);
      case 'alias':
        return this.valueAt(entity, this.way(entity.dataclass, [{ name: attribute.name }]));
      case 'relatedEntities':
      case 'relationAlias':
        throw new Error('A to-many relation has no value.');
    }
  }

  #aggregate(entity: Entity, attribute: AggregateAttribute): JsonValue {
    const { aggregate, path, filter } = attribute;
    let rows: readonly Row[] = [{ counted: entity, end: entity }];
    let end: StorageAttribute | undefined;
    let dataclass = entity.dataclass;
    for (const name of path) {
      const step = attributeNamed(dataclass, name);
      if (step.kind === 'storage') {
        end = step;
        break;
      }
      if (step.kind === 'relatedEntities') {
        // A related entity counts once, even if several of the entities are related to it.
        const related = rows.flatMap((row) => (row.end ? this.many(row.end, step) : []));
        rows = [...new Set(related)].map((each) => ({ counted: each, end: each }));
        dataclass = this.target(step);
      } else if (step.kind === 'relatedEntity') {
        rows = rows.map((row) => ({ ...row, end: row.end && this.one(row.end, step) }));
        dataclass = this.target(step);
      }
    }
    const wanted = /^\[?(.*?)\]? is not null$/.exec(filter ?? '')?.[1];
    const counting = rows.filter(
      ({ counted }) => wanted === undefined || (counted.stored.get(wanted) ?? null) !== null,
    );
    const values = counting
      .map((row) => (end === undefined ? row.end?.key : row.end?.stored.get(end.name)) ?? null)
      .filter((each) => each !== null);
    switch (aggregate) {
      case 'count':
        return values.length;
      case 'min':
      case 'max': {
        const sign = aggregate === 'min' ? 1 : -1;
        const { type } = attribute;
        return values.toSorted((a, b) => sign * compareValues(a, b, type, this.fold))[0] ?? null;
      }
      case 'sum':
      case 'average':
        return ofDecimals(aggregate, values);
    }
  }

  /** The value at the end of to-one relations; null where one of them is missing. */
  valueAt(entity: Entity, { relations, end, moves }: Way): JsonValue {
    let here: Entity | undefined = entity;
    for (const { attribute } of relations) {
      if (here !== undefined) here = this.one(here, attribute as RelatedEntityAttribute);
    }
    const held = here === undefined ? null : this.value(here, end);
    return valuesAt(held, moves)[0] ?? null;
  }

  way(dataclass: Dataclass, path: readonly WrittenStep[]): Way {
    const relations: Relation[] = [];
    let here = dataclass;
    for (const [index, { name, ordinal = 1, element }] of path.entries()) {
      const end = this.#stepOf(here, name);
      if (end.kind === 'relatedEntity' || end.kind === 'relatedEntities') {
        if (index === path.length - 1) return { relations, end, endOrdinal: ordinal, moves: [] };
        relations.push({ attribute: end, ordinal });
        here = this.target(end);
        continue;
      }
      if (end.kind === 'relationAlias') {
        const names = end.path.map((each) => ({ name: each, ordinal }));
        const beyond = this.way(here, [...names, ...path.slice(index + 1)]);
        return { ...beyond, relations: [...relations, ...beyond.relations] };
      }
      const moves = [...elementMove(element), ...movesOf(path.slice(index + 1))];
      if (end.kind !== 'alias') return { relations, end, endOrdinal: 1, moves };
      const names = end.path.map((each) => ({ name: each }));
      const beyond = this.way(here, names);
      return { ...beyond, relations: [...relations, ...beyond.relations], moves };
    }
    throw new Error('A path without an end.');
  }

  #stepOf(dataclass: Dataclass, name: string): PathStep {
    if (name === '__STAMP') return { kind: 'stamp' };
    return name === '__KEY' ? this.key(dataclass) : attributeNamed(dataclass, name);
  }
}

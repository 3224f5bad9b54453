import type { Dataclass, JsonValue } from '../../../generator/model/model.js';
import type { Filter } from '../memory/filter.js';
import { matches } from '../memory/matches.js';
import { type Entity, type PathStep, Store } from '../memory/store.js';

/** The visible entities of a dataclass; all of them without a filter. */
export type Restrictions = ReadonlyMap<string, Filter>;

/** A store without the entities that a session may not see; relations to them are null. */
export class SeenStore extends Store {
  readonly #whole: Store;
  readonly #seen = new Map<string, readonly Entity[]>();

  constructor(whole: Store, restrictions: Restrictions) {
    super(whole.random);
    this.#whole = whole;
    this.count = whole.count;
    for (const { name } of whole.model.dataclasses) {
      const filter = restrictions.get(name);
      // Filters of restrictions see all entities.
      const seen = whole
        .all(name)
        .filter((each) => filter === undefined || matches(whole, each, filter));
      this.#seen.set(name, seen);
    }
  }

  override all(dataclass: string): readonly Entity[] {
    return this.#seen.get(dataclass) ?? [];
  }

  isSeen(entity: Entity): boolean {
    return this.all(entity.dataclass.name).includes(entity);
  }

  hidden(dataclass: Dataclass): readonly Entity[] {
    return this.#whole.all(dataclass.name).filter((each) => !this.isSeen(each));
  }

  override value(entity: Entity, attribute: PathStep): JsonValue {
    if (attribute.kind !== 'relatedEntity') return super.value(entity, attribute);
    return this.one(entity, attribute)?.key ?? null;
  }
}

import type { Dataclass, JsonValue } from '../../../generator/model/model.js';
import { compareAt, selection, sent, type Query } from './answers.js';
import { compareByCodePoint, ofDecimals } from './comparison.js';
import { typeOf } from './matches.js';
import type { WrittenStep } from './filter.js';
import { valuesAt } from './property.js';
import type { Entity, Store, Way } from './store.js';

export type Aggregate = 'count' | 'sum' | 'average' | 'min' | 'max';

/** Values of an attribute or of a property of an object, of the entities that a query selects; nulls left out. */
function valuesOf(
  store: Store,
  dataclass: Dataclass,
  { path, ...query }: Query & { readonly path: readonly WrittenStep[] },
): { readonly way: Way; readonly values: readonly JsonValue[] } {
  const way = store.way(dataclass, path);
  const entities = selection(store, store.all(dataclass.name), query);
  const values = entities
    .flatMap((each) => reached(store, each, way.relations))
    .flatMap((each) => valuesAt(store.value(each, way.end), way.moves));
  return { way, values: values.filter((each) => each !== null) };
}

/** The entities at the end of relations. */
function reached(
  store: Store,
  entity: Entity,
  [relation, ...others]: Way['relations'],
): readonly Entity[] {
  if (relation === undefined) return [entity];
  const { attribute } = relation;
  const related =
    attribute.kind === 'relatedEntities'
      ? store.many(entity, attribute)
      : [store.one(entity, attribute)].filter((each) => each !== undefined);
  return related.flatMap((each) => reached(store, each, others));
}

/**
 * `$distinct=true` (protocol P5.2): values in ascending order without nulls; of texts that differ
 * only in case, the first by code point. An array counts as its elements; values that are not
 * scalar are left out.
 */
export function distinctAnswer(
  store: Store,
  dataclass: Dataclass,
  query: Query & { readonly path: readonly WrittenStep[] },
): readonly JsonValue[] {
  const { way, values } = valuesOf(store, dataclass, query);
  const scalars = values
    .flatMap(elementsOf)
    .filter((each) => each !== null && typeof each !== 'object');
  const sorted = scalars.toSorted(
    (a, b) => compareAt(store, way, a, b) || compareByCodePoint(String(a), String(b)),
  );
  const different = sorted.filter(
    (each, index) => index === 0 || compareAt(store, way, sorted[index - 1] ?? null, each) !== 0,
  );
  const { skip = 0, top = different.length } = query;
  return different.slice(skip, skip + top).map((each) => sent(store, typeOf(store, way.end), each));
}

function elementsOf(value: JsonValue): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [value];
}

/** The aggregates that a type has (protocol P5.4). */
export function aggregatesOf(
  store: Store,
  dataclass: Dataclass,
  path: readonly WrittenStep[],
): readonly Aggregate[] {
  const { type } = typeOf(store, store.way(dataclass, path).end);
  const isNumeric = ['number', 'integer', 'decimal', 'duration', 'object'].includes(type);
  return isNumeric ? ['count', 'sum', 'average', 'min', 'max'] : ['count', 'min', 'max'];
}

/** An allowed answer: one value or, for texts that are equal but for case, any of them. */
export interface Aggregated {
  readonly values: readonly JsonValue[];
  /** The tolerance of a sum, because numbers are added in any order. */
  readonly tolerance: number;
}

/** `$compute` of one keyword. */
export function computed(
  store: Store,
  dataclass: Dataclass,
  aggregate: Aggregate,
  query: Query & { readonly path: readonly WrittenStep[] },
): Aggregated {
  const { way, values } = valuesOf(store, dataclass, query);
  return computedOf(store, way, aggregate, values);
}

/** A function of values, which are not null. */
export function computedOf(
  store: Store,
  way: Way,
  aggregate: Aggregate,
  values: readonly JsonValue[],
): Aggregated {
  const isSum = aggregate === 'sum' || aggregate === 'average';
  if (isSum && typeOf(store, way.end).type === 'decimal') {
    const decimals = 'scale' in way.end ? way.end.scale : undefined;
    return { values: [ofDecimals(aggregate, values, decimals)], tolerance: 0 };
  }
  const numbers = values.filter((each) => typeof each === 'number');
  const tolerance = numbers.reduce((sum, each) => sum + Math.abs(each), 0) * 1e-14;
  const sum = numbers.reduce((left, right) => left + right, 0);
  switch (aggregate) {
    case 'count':
      return { values: [values.length], tolerance: 0 };
    case 'sum':
      return { values: [sum], tolerance };
    case 'average':
      return numbers.length === 0
        ? { values: [null], tolerance: 0 }
        : { values: [sum / numbers.length], tolerance };
    case 'min':
    case 'max': {
      const sign = aggregate === 'min' ? 1 : -1;
      const [first = null] = values.toSorted((a, b) => sign * compareAt(store, way, a, b));
      const equals = values.filter((each) => compareAt(store, way, first, each) === 0);
      const all = equals.length === 0 ? [null] : equals;
      return { values: all.map((each) => sent(store, typeOf(store, way.end), each)), tolerance: 0 };
    }
  }
}

import fc from 'fast-check';
import type { Dataclass, JsonValue } from '../../../generator/model/model.js';
import { features } from '../../support/random-model/features.js';
import { aggregatesOf } from '../memory/aggregates.js';
import type { WrittenStep } from '../memory/filter.js';
import { typeOf } from '../memory/matches.js';
import type { Store } from '../memory/store.js';
import { isScalar } from '../../support/random-model/values.js';
import type { AggregateRequest } from './aggregate-request.js';
import { endPaths } from './end-paths.js';
import { propertyPaths, written } from './property-paths.js';
import { filters } from './random-filter.js';
import { sometimes } from './sometimes.js';

interface AggregatePath {
  /** Values that are texts can be equal and yet different. */
  readonly isText: boolean;
  readonly path: readonly WrittenStep[];
  readonly isToOne: boolean;
  /** All values can be compared with each other. */
  readonly isOrdered: boolean;
}

/** `$distinct` and `$compute` of the attributes of a dataclass and of properties of its objects. */
export function aggregates(store: Store, dataclass: Dataclass): fc.Arbitrary<AggregateRequest>[] {
  const paths = aggregatePaths(store, dataclass);
  const common = {
    dataclass: fc.constant(dataclass.name),
    spelling: fc.nat(1_000),
    filter: sometimes(35, filters(store, dataclass)),
  };
  const distinct = fc.record({
    ...common,
    aggregate: fc.constant('distinct' as const),
    path: distinctPaths(paths),
    skip: sometimes(20, fc.nat(4)),
    top: sometimes(30, fc.nat(6)),
  });
  // It is not specified how often an entity counts that is related to several others.
  const toOne = paths.filter((each) => each.isToOne);
  const compute = fc.constantFrom(...toOne).chain(({ path, isOrdered }) => {
    const all = aggregatesOf(store, dataclass, path);
    const single = all.filter((each) => isOrdered || (each !== 'min' && each !== 'max'));
    return fc.record({
      ...common,
      path: fc.constant(path),
      aggregate: fc.constantFrom(...single, ...(isOrdered ? (['$all'] as const) : [])),
    });
  });
  return [...(features.distinct ? [distinct] : []), ...(features.compute ? [compute] : [])];
}

function distinctPaths(paths: readonly AggregatePath[]): fc.Arbitrary<AggregatePath['path']> {
  const ofTexts = paths.filter((each) => each.isText);
  const all = fc.constantFrom(...paths);
  const some = ofTexts.length === 0 ? all : fc.oneof(all, fc.constantFrom(...ofTexts));
  return some.map(({ path }) => path);
}

function aggregatePaths(store: Store, dataclass: Dataclass): readonly AggregatePath[] {
  const short = endPaths(store, dataclass).filter(({ relations }) => relations < 3);
  return short.flatMap(({ path, end, isToOne }): AggregatePath[] => {
    if (end.kind === 'stamp' || isScalar(end)) {
      const isText = end.kind !== 'stamp' && typeOf(store, end).type === 'string';
      return [{ path, isToOne, isText, isOrdered: true }];
    }
    if (!('type' in end) || end.type !== 'object' || !features.objectProperties) return [];
    return propertyPaths(store, end)
      .filter(({ isOdd }) => !isOdd)
      .map(({ moves, values }) => {
        const isText = values.some((each) => typeof each === 'string');
        return { path: written(path, moves), isToOne, isText, isOrdered: isOneType(values) };
      });
  });
}

function isOneType(values: readonly JsonValue[]): boolean {
  const types = new Set(values.filter((each) => each !== null).map((each) => typeof each));
  return types.size < 2 && !types.has('object');
}

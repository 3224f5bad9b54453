import { isDeepStrictEqual } from 'node:util';
import type { JsonValue } from '../../../generator/model/model.js';
import {
  type Aggregate,
  type Aggregated,
  aggregatesOf,
  computed,
  distinctAnswer,
} from '../memory/aggregates.js';
import type { Query } from '../memory/answers.js';
import type { WrittenStep } from '../memory/filter.js';
import type { Store } from '../memory/store.js';
import { pathText } from './filter-text.js';
import { dataclassOf, queryParameters, queryText } from './request.js';

/** `$distinct` or `$compute` of one attribute, or of a property of an object. */
export interface AggregateRequest extends Query {
  readonly dataclass: string;
  readonly path: readonly WrittenStep[];
  readonly aggregate: 'distinct' | '$all' | Aggregate;
  /** Chooses among spellings of the address. */
  readonly spelling: number;
}

export function aggregateAddress(request: AggregateRequest): string {
  const { dataclass, path, aggregate, spelling } = request;
  const parameter: [string, string] =
    aggregate === 'distinct' ? ['$distinct', 'true'] : ['$compute', aggregate];
  const slash = spelling % 2 === 0 ? '/' : '';
  const parameters = queryText([...queryParameters(request), parameter], spelling);
  return `/rest/${encodeURIComponent(dataclass)}/${encodeURIComponent(pathText(path))}${slash}${parameters}`;
}

/**
 * The expected answer, as far as it is decided: numbers may differ by the order in which they were
 * added.
 */
export function expectedAggregate(store: Store, request: AggregateRequest): unknown {
  const dataclass = dataclassOf(store, request.dataclass);
  const { aggregate, path } = request;
  switch (aggregate) {
    case 'distinct':
      return distinctAnswer(store, dataclass, request);
    case '$all': {
      const members = aggregatesOf(store, dataclass, path).map(
        (each) => [each, computed(store, dataclass, each, request)] as const,
      );
      return { [pathText(path)]: Object.fromEntries(members) };
    }
    case 'count':
    case 'sum':
    case 'average':
    case 'min':
    case 'max':
      return computed(store, dataclass, aggregate, request);
  }
}

/** Whether an answer is as {@link expectedAggregate} says. */
export function isAggregate(
  { aggregate, path }: AggregateRequest,
  answer: unknown,
  expected: unknown,
): boolean {
  if (aggregate === 'distinct') return isDeepStrictEqual(answer, expected);
  if (aggregate !== '$all') return fits(answer, expected as Aggregated);
  const name = pathText(path);
  const members = (expected as Readonly<Record<string, Record<string, Aggregated>>>)[name] ?? {};
  const given = (answer as Readonly<Record<string, Record<string, unknown>>>)[name] ?? {};
  return (
    isDeepStrictEqual(Object.keys(answer as object), [name]) &&
    isDeepStrictEqual(Object.keys(given).toSorted(), Object.keys(members).toSorted()) &&
    Object.entries(members).every(([key, each]) => fits(given[key], each))
  );
}

function fits(answer: unknown, { values, tolerance }: Aggregated): boolean {
  // Beyond the range of numbers it depends on the order whether a sum leaves it; null is what has no number.
  if (tolerance === Infinity) return answer === null || typeof answer === 'number';
  return values.some((each: JsonValue) =>
    typeof each === 'number' && typeof answer === 'number' && tolerance > 0
      ? Math.abs(each - answer) <= tolerance
      : isDeepStrictEqual(answer, each),
  );
}

import { refuse } from '../protocol/errors.js';
import { shortened } from '../protocol/found.js';
import { notApplicable, numericTypes, type ValuePath } from './value-path.js';

export type Aggregate = 'count' | 'sum' | 'average' | 'min' | 'max';

/** What `$compute` asks for. */
export type ComputeKeyword = '$all' | Aggregate;

/** As the protocol writes them. */
const keywords: readonly ComputeKeyword[] = ['$all', 'average', 'count', 'min', 'max', 'sum'];

/** In the order of the answer to `$all` (specification, "Compute result"). */
const ofNumbers: readonly Aggregate[] = ['count', 'sum', 'average', 'min', 'max'];
const ofOthers: readonly Aggregate[] = ['count', 'min', 'max'];

/**
 * @param text in any case
 * @throws RequestError 400 with 1817
 */
export function computeKeyword(text: string): ComputeKeyword {
  const keyword = keywords.find((each) => each === text.toLowerCase());
  if (keyword !== undefined) return keyword;
  const problem = `$compute=${shortened(text)} does not exist`;
  throw refuse('computeAction', `${problem}: expected one of ${keywords.join(', ')}.`);
}

/** What can be computed of an attribute; of a property, whose values may be of any type, everything. */
export function aggregatesOf({ attribute: { type } }: ValuePath): readonly Aggregate[] {
  return numericTypes.has(type) || type === 'object' ? ofNumbers : ofOthers;
}

/** @throws RequestError 400 with 1813 for a sum or an average of what is no number */
export function checkAggregate(keyword: ComputeKeyword, path: ValuePath, name: string): void {
  if (keyword === '$all' || aggregatesOf(path).includes(keyword)) return;
  const reason = `${shortened(name)} is of the type ${path.attribute.type}`;
  throw notApplicable('$compute', `${keyword} applies to numbers, and ${reason}`);
}

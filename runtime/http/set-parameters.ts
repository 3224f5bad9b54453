import { refuse } from '../protocol/errors.js';
import type { Parameters } from '../query/parameters.js';

/** Parameters that mean something for entity sets alone; to pass them over would answer another question. */
export function refuseSetParameters(parameters: Parameters): void {
  const { clean, logicOperator, otherCollection, subOrderby, method } = parameters;
  const name = clean
    ? '$clean'
    : logicOperator !== undefined
      ? '$logicOperator'
      : otherCollection !== undefined
        ? '$otherCollection'
        : undefined;
  if (name !== undefined) {
    throw refuse('malformedUrl', `${name} applies to an entity set: /$entityset/<entitySetID>.`);
  }
  if (subOrderby !== undefined && method !== 'subentityset') {
    throw refuse('malformedUrl', '$subOrderby applies to $method=subentityset; use $orderby.');
  }
}

import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Parameters } from './parameters.js';
import { project, type Projection, wholeEntity, projectionTree } from './projection.js';
import type { ReadingContext } from './reading-context.js';

/** The attributes that a request's lists select; all, if there is no list. */
export function projectionOf(
  dataclass: Dataclass,
  pathList: string | undefined,
  { attributes, expand }: Pick<Parameters, 'attributes' | 'expand'>,
  { limits }: Pick<ReadingContext, 'limits'>,
): Projection {
  const tree = projectionTree({ pathList, attributes, expand }, limits.expandDepth);
  if (tree === undefined) return wholeEntity(dataclass);
  const origin =
    attributes !== undefined ? 'attributes' : pathList !== undefined ? 'path' : 'expand';
  return project(dataclass, tree, origin);
}

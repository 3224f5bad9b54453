import type { FunctionType } from '../protocol/definition.js';
import { pageTop } from '../query/page-size.js';
import type { Parameters } from '../query/parameters.js';
import { projectionOf } from '../query/projection-of.js';
import type { ServiceContext } from './service-context.js';

/**
 * Refuses what the declared result of a function cannot be answered with, before the function changes something: attributes
 * that its entities do not have, as far as the session sees them, and pages that are too long.
 * @throws RequestError 400
 */
export function checkOutput(
  context: ServiceContext,
  returns: FunctionType,
  output: Parameters,
): void {
  const name = dataclassOf(returns);
  if (name === undefined) return;
  pageTop(context, output.top);
  const dataclass = context.dataclasses.get(name);
  if (dataclass?.exposed !== true || dataclass.permissions?.read === false) return;
  projectionOf(dataclass, undefined, output, context);
}

function dataclassOf(type: FunctionType): string | undefined {
  if (typeof type !== 'object') return undefined;
  if ('list' in type) return dataclassOf(type.list);
  return 'entity' in type ? type.entity : type.selection;
}

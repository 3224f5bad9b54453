import type { Dataclass } from '../dataclass/dataclasses.js';
import type { ReadingContext } from '../query/reading-context.js';

/** The model as the session of a call sees it, and what its reads share. */
export interface SeenModel extends ReadingContext {
  readonly dataclasses: ReadonlyMap<string, Dataclass>;
}

/** A dataclass of the whole model as a view has it. */
export function seenDataclass(
  { dataclasses }: Pick<SeenModel, 'dataclasses'>,
  { name }: Pick<Dataclass, 'name'>,
): Dataclass {
  const dataclass = dataclasses.get(name);
  if (dataclass === undefined) throw new Error(`The model has no dataclass ${name}.`);
  return dataclass;
}

import type { Dataclass } from './dataclasses.js';

/** A dataclass with all of its entities, for what the data itself needs: unique values, keys that are taken, references. */
export function unrestricted(dataclass: Dataclass): Dataclass {
  return dataclass.restriction === undefined ? dataclass : { ...dataclass, restriction: undefined };
}

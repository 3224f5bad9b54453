import type { JsonValue } from '../../../generator/model/model.js';
import type { WrittenStep } from '../memory/filter.js';
import { type Move, valuesAt } from '../memory/property.js';
import type { PathStep, Store } from '../memory/store.js';
import { features } from '../../support/random-model/features.js';
import { heldValues } from './end-paths.js';
import { remembered } from './remembered.js';

/** A path inside an object that a filter can name, and the values there. */
export interface PropertyPath {
  readonly moves: readonly Move[];
  /** Some name holds characters that only `$params` can hold. */
  readonly isOdd: boolean;
  readonly values: readonly JsonValue[];
}

const maxMoves = 5;
const plainName = /^[\p{L}\p{N}_]+$/u;
/** The database cannot read a name with U+0000. */
const unreachable = /[.[\]{}\0]|^$/;

/** Paths that exist in one of the objects of an attribute, and some that do not. */
export const propertyPaths = remembered(propertyPathsOf);

function propertyPathsOf(store: Store, end: PathStep): readonly PropertyPath[] {
  const objects = heldValues(store, end);
  const ways = new Map<string, readonly Move[]>();
  const also = [property('missing'), property('length')];
  for (const moves of [...objects.flatMap((each) => movesIn(each)), also.slice(0, 1), also]) {
    if (moves.length > 0 && isWritable(moves)) ways.set(JSON.stringify(moves), moves);
  }
  return [...ways.values()].map((moves) => ({
    moves,
    isOdd: moves.some((each) => each.kind === 'property' && !plainName.test(each.name)),
    values: objects.flatMap((each) => valuesAt(each, moves)),
  }));
}

function property(name: string): Move {
  return { kind: 'property', name };
}

function movesIn(value: JsonValue, depth = 0): readonly Move[][] {
  if (value === null || typeof value !== 'object' || depth === maxMoves) return [[]];
  const further = Array.isArray(value)
    ? [
        [property('length')],
        ...value.flatMap((each: JsonValue) =>
          movesIn(each, depth + 1).map((rest) => [element, ...rest]),
        ),
      ]
    : Object.entries(value).flatMap(([name, each]) =>
        movesIn(each, depth + 1).map((rest) => [property(name), ...rest]),
      );
  return [[], ...further];
}

const element: Move = { kind: 'element', letter: '' };

/** An element of an element cannot be written, and neither can some names. */
function isWritable(moves: readonly Move[]): boolean {
  return moves.every((each, index) =>
    each.kind === 'element'
      ? features.elements && moves[index - 1]?.kind !== 'element'
      : !unreachable.test(each.name) && (features.pathPlaceholders || plainName.test(each.name)),
  );
}

/** The path of an attribute, continued inside its object. */
export function written(path: readonly WrittenStep[], moves: readonly Move[]): WrittenStep[] {
  const steps = [...path];
  for (const move of moves) {
    if (move.kind === 'property') steps.push({ name: move.name });
    else steps.push({ ...(steps.pop() as WrittenStep), element: move.letter });
  }
  return steps;
}

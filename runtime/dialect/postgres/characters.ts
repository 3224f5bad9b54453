import { mayPileUp } from '../../protocol/fold.js';

/**
 * What this JavaScript knows of characters, as PostgreSQL takes it: its own answers depend on how a database was made, and
 * texts must be folded as {@link file://../../protocol/fold.ts} does it.
 */
export interface CharacterTables {
  /** In stages: each changes other characters. */
  readonly lowerCase: readonly LowerCase[];
  /** Letters, digits, combining marks and the underscore, as the inside of a bracket expression. */
  readonly word: string;
  /** The marks that `foldWithoutAccents` drops, as the inside of a bracket expression. */
  readonly accents: string;
  /** What `separateMarks` counts, as the inside of a bracket expression. */
  readonly marks: string;
}

/** A table for `translate`. */
export interface LowerCase {
  /** As the inside of a bracket expression. */
  readonly changing: string;
  readonly from: string;
  readonly to: string;
}

/** A text mostly has characters of one stage, and `translate` compares each of them with all that its table changes. */
const stageEnds = [0x100, 0x250, 0x530, 0x2000, 0x110000];

/** Where there are letters, digits and marks. */
const inhabited: readonly (readonly [start: number, end: number])[] = [
  [0x20, 0xd800],
  [0xe000, 0x34000],
  [0xe0000, 0xe0200],
];

let known: CharacterTables | undefined;

/** Made once, which takes some ten milliseconds. */
export function characterTables(): CharacterTables {
  known ??= {
    lowerCase: lowerCase(),
    word: characterClass(pointsThat((character) => /^[\p{L}\p{N}\p{M}_]/u.test(character))),
    accents: characterClass(
      pointsThat((character) => /^(?=\p{Mn})\p{Script=Inherited}/u.test(character)),
    ),
    marks: characterClass(pointsThat((character) => mayPileUp.test(character))),
  };
  return known;
}

/** ASCII needs no table; İ becomes two characters, which a table cannot say. */
function lowerCase(): readonly LowerCase[] {
  const changing = pointsThat((character) => {
    const lower = character.toLowerCase();
    return lower !== character && Array.from(lower).length === 1;
  }).filter((point) => point >= 0x80);
  return stageEnds.flatMap((end, index) => {
    const start = stageEnds[index - 1] ?? 0;
    const points = changing.filter((point) => point >= start && point < end);
    if (points.length === 0) return [];
    const from = points.map((point) => String.fromCodePoint(point)).join('');
    const to = points.map((point) => String.fromCodePoint(point).toLowerCase()).join('');
    return [{ changing: characterClass(points), from, to }];
  });
}

function pointsThat(has: (character: string) => boolean): number[] {
  const points: number[] = [];
  for (const [start, end] of inhabited) {
    for (let point = start; point < end; point += 1) {
      if (has(String.fromCodePoint(point))) points.push(point);
    }
  }
  return points;
}

/** @param points ascending */
function characterClass(points: readonly number[]): string {
  let text = '';
  for (let at = 0; at < points.length; at += 1) {
    const first = points[at] as number;
    let last = first;
    while (points[at + 1] === last + 1) {
      last += 1;
      at += 1;
    }
    text += first === last ? escaped(first) : `${escaped(first)}-${escaped(last)}`;
  }
  return text;
}

function escaped(point: number): string {
  return `\\U${point.toString(16).padStart(8, '0')}`;
}

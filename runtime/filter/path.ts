import { bracketedName, nameEnd, found, maxPathLength } from '../protocol/names.js';
import { digitsEnd } from '../protocol/numbers.js';
import { isWellFormed } from '../protocol/own-text.js';
import type { AttributePath, PathStep, PlaceholderValue } from './ast.js';
import { type Cursor, filterError } from './lexer.js';
import { placeholderName, takePlaceholder } from './params.js';

/** The place where a path is written: it decides what names may contain, and what an error says. */
interface PathPlace {
  readonly nameEnd: (text: string, start: number) => number;
  /** What can be in the place of the first name. */
  readonly firstExpected: string;
  readonly refuse: (offset: number, problem: string) => Error;
}

interface ReadPath {
  readonly steps: readonly PathStep[];
  readonly end: number;
}

const maxOrdinalDigits = 4;

const inFilter: PathPlace = {
  nameEnd,
  firstExpected: 'an attribute, NOT or an opening parenthesis',
  refuse: (offset, problem) => filterError(offset, problem),
};

/** Takes `name.name{2}.name[a]`, `[Item 58].name` or a placeholder. Any name is a path here, including `and` and `null`. */
export function takePath(cursor: Cursor): AttributePath {
  const { text, at: start } = cursor;
  if (text.charCodeAt(start) === 0x3a) {
    const placeholder = takePlaceholder(cursor);
    return { steps: [], placeholder, start, end: placeholder.end };
  }
  const { steps, end } = readPath(text, start, inFilter);
  cursor.at = end;
  return { steps, start, end };
}

/**
 * The path in a parameter. Its names may contain any character except `.`, `[`, `]`, `{` and `}`,
 * so that every property of an object can be reached.
 *
 * @param placeholder that the path replaces; the offsets of its steps are those of the placeholder
 * @throws RequestError 400 with 1162
 */
export function pathFromParam(text: string, placeholder: PlaceholderValue): AttributePath {
  const { start, end } = placeholder;
  const where = `in the path given by :${placeholderName(placeholder)}`;
  const place: PathPlace = {
    nameEnd: parameterNameEnd,
    firstExpected: 'a name',
    refuse: (offset, problem) =>
      filterError(start, `${where}, at its character ${offset + 1}: ${problem}`),
  };
  if (!isWellFormed(text)) {
    const offset = text.search(/\p{Surrogate}/u);
    throw place.refuse(offset, 'half of a surrogate pair is no character');
  }
  const path = readPath(text, 0, place);
  if (path.end !== text.length) {
    throw place.refuse(path.end, `expected a dot or the end, ${found(text, path.end)}`);
  }
  const steps = path.steps.map((step) => ({ ...step, start, end }));
  return { steps, placeholder, start, end };
}

/** A step as it is written in a filter. */
export function stepText({ name, ordinal, element }: Omit<PathStep, 'start' | 'end'>): string {
  const text = ordinal === 1 ? name : `${name}{${ordinal}}`;
  return element === undefined ? text : `${text}[${element}]`;
}

function parameterNameEnd(text: string, start: number): number {
  let at = start;
  while (at < text.length && !isPathMark(text.charCodeAt(at))) at += 1;
  return at;
}

function isPathMark(unit: number): boolean {
  return unit === 0x2e || unit === 0x5b || unit === 0x5d || unit === 0x7b || unit === 0x7d;
}

function readPath(text: string, start: number, place: PathPlace): ReadPath {
  const steps: PathStep[] = [];
  for (let at = start; ; at += 1) {
    if (steps.length === maxPathLength) {
      throw place.refuse(at, `a path has at most ${maxPathLength} names`);
    }
    const step = readStep(text, at, place, steps.length === 0);
    steps.push(step);
    at = step.end;
    if (text.charCodeAt(at) !== 0x2e) return { steps, end: at };
  }
}

function readStep(text: string, start: number, place: PathPlace, isFirst: boolean): PathStep {
  const inBrackets = bracketedName(text, start);
  const endOfName = inBrackets?.end ?? place.nameEnd(text, start);
  if (endOfName === start) {
    const expected = isFirst ? place.firstExpected : 'a name after the dot';
    throw place.refuse(start, `expected ${expected}, ${found(text, start)}`);
  }
  const name = inBrackets?.name ?? text.slice(start, endOfName);
  let end = endOfName;
  let ordinal = 1;
  if (text.charCodeAt(end) === 0x7b) {
    const digits = end + 1;
    end = closingBrace(text, digits, place);
    ordinal = Number(text.slice(digits, end));
    end += 1;
  }
  if (text.charCodeAt(end) !== 0x5b) return { name, ordinal, element: undefined, start, end };
  const letter = end + 1;
  end = closingBracket(text, letter, place);
  return { name, ordinal, element: text.slice(letter, end).toLowerCase(), start, end: end + 1 };
}

function closingBrace(text: string, start: number, place: PathPlace): number {
  const end = digitsEnd(text, start);
  const isOrdinal = end - start <= maxOrdinalDigits && Number(text.slice(start, end)) >= 1;
  if (!isOrdinal) {
    const greatest = '9'.repeat(maxOrdinalDigits);
    throw place.refuse(
      start,
      `expected a number from 1 to ${greatest} in the braces, ${found(text, start)}`,
    );
  }
  if (text.charCodeAt(end) !== 0x7d) {
    throw place.refuse(end, `expected a closing brace, ${found(text, end)}`);
  }
  return end;
}

function closingBracket(text: string, start: number, place: PathPlace): number {
  const unit = text.charCodeAt(start) | 0x20;
  const end = unit >= 0x61 && unit <= 0x7a ? start + 1 : start;
  if (text.charCodeAt(end) === 0x5d) return end;
  const expected = end === start ? 'a closing bracket or one letter' : 'a closing bracket';
  const hint = end === start ? '; it stands for any element of an array, a letter for one' : '';
  throw place.refuse(end, `expected ${expected}, ${found(text, end)}${hint}`);
}

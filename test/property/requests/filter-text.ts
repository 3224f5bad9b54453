import type { Comparator, Filter } from '../memory/filter.js';

/** A filter as a client writes it, with the values of its placeholders. */
export interface FilterText {
  readonly text: string;
  readonly params: readonly (string | number | boolean | null)[];
}

const spellings: Readonly<Record<Comparator, readonly string[]>> = {
  '=': ['=', '==', ' = ', ' === ', ' is ', ' IS '],
  '!=': ['!=', ' != ', '#', ' !== ', ' is not ', ' IS  NOT '],
  '<': ['<', ' < '],
  '<=': ['<=', ' <= '],
  '>': ['>', ' > '],
  '>=': ['>=', ' >= '],
  begin: [' begin ', ' BEGIN '],
};

const keywords = new Set(['and', 'or', 'is', 'not', 'by', 'in']);

export function filterText(filter: Filter): FilterText {
  const params: (string | number | boolean | null)[] = [];
  return { text: written(filter, params), params };
}

function written(filter: Filter, params: FilterText['params'][number][]): string {
  switch (filter.kind) {
    case 'comparison': {
      const { path, comparator, spelling } = filter;
      const signs = spellings[comparator];
      const sign = signs[spelling % signs.length] ?? comparator;
      return `${path.join('.')}${sign}${valueText(filter, params)}`;
    }
    case 'not':
      return `NOT (${written(filter.operand, params)})`;
    case 'or':
      return `${written(filter.left, params)} OR ${written(filter.right, params)}`;
    case 'and':
    case 'except': {
      // AND and EXCEPT bind tighter than OR and join from left to right.
      const left = written(filter.left, params);
      const right = written(filter.right, params);
      const isLeftPlain = filter.left.kind !== 'or';
      const isRightPlain = filter.right.kind === 'comparison' || filter.right.kind === 'not';
      const operator = filter.kind === 'and' ? 'AND' : 'except';
      return `${isLeftPlain ? left : `(${left})`} ${operator} ${isRightPlain ? right : `( ${right} )`}`;
    }
  }
}

function valueText(
  { value, isPlaceholder, spelling }: Extract<Filter, { kind: 'comparison' }>,
  params: FilterText['params'][number][],
): string {
  if (isPlaceholder) {
    params.push(value);
    return `:${String(params.length)}`;
  }
  if (typeof value !== 'string') return String(value);
  const isBare = /^[a-z]{1,3}$/i.test(value) && !keywords.has(value.toLowerCase());
  if (isBare && spelling % 3 === 0) return value;
  const quote = spelling % 2 === 0 ? '"' : "'";
  return `${quote}${escaped(value, quote, spelling)}${quote}`;
}

function escaped(text: string, quote: string, spelling: number): string {
  return Array.from(text, (character) => {
    if (character === '\\') return '\\\\';
    if (character === quote) return spelling % 4 < 2 ? `\\${quote}` : unicodeEscape(character);
    return spelling % 7 === 0 ? unicodeEscape(character) : character;
  }).join('');
}

function unicodeEscape(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}

import type { Comparator, Comparison, Filter, Operand, WrittenStep } from '../memory/filter.js';
import { Params, type ParamsStyle } from './params.js';

/** A filter as a client writes it, with the values of its placeholders. */
export interface FilterText {
  readonly text: string;
  /** Nothing when the filter has no placeholders. */
  readonly params: unknown;
}

const spellings: Readonly<Record<Comparator, readonly string[]>> = {
  '=': ['=', '==', ' = ', ' == '],
  '===': ['===', ' === ', ' is ', ' IS ', ' Is\t'],
  '!=': ['!=', ' != ', '#', ' # '],
  '!==': ['!==', ' !== ', ' is not ', ' IS  NOT '],
  '<': ['<', ' < '],
  '<=': ['<=', ' <= '],
  '>': ['>', ' > '],
  '>=': ['>=', ' >= '],
  begin: [' begin ', ' BEGIN '],
  contains: [' contains ', ' Contains '],
  '%': [' % ', '%'],
  in: [' in ', ' IN '],
};

const connectives = {
  and: [' AND ', ' and ', ' & ', '&&', '&', ' AND '],
  or: [' OR ', ' or ', ' | ', '||', '|', ' Or\n'],
  except: [' EXCEPT ', ' except '],
};

export function filterText(filter: Filter, style: ParamsStyle): FilterText {
  const params = new Params(style);
  return { text: written(filter, params), params: params.json };
}

function written(filter: Filter, params: Params): string {
  switch (filter.kind) {
    case 'comparison':
      return comparisonText(filter, params);
    case 'not':
      return `NOT (${written(filter.operand, params)})`;
    case 'or': {
      const left = written(filter.left, params);
      return `${left}${connective(filter)}${written(filter.right, params)}`;
    }
    case 'and':
    case 'except': {
      // AND and EXCEPT bind tighter than OR and join from left to right.
      const left = written(filter.left, params);
      const right = written(filter.right, params);
      const isLeftPlain = filter.left.kind !== 'or';
      const isRightPlain = filter.right.kind === 'comparison' || filter.right.kind === 'not';
      return `${isLeftPlain ? left : `(${left})`}${connective(filter)}${isRightPlain ? right : `( ${right} )`}`;
    }
  }
}

function connective({ kind, spelling = 0 }: Extract<Filter, { readonly left: Filter }>): string {
  const options = connectives[kind];
  return options[spelling % options.length] ?? '';
}

function comparisonText(comparison: Comparison, params: Params): string {
  const { path, comparator, operands, isPathPlaceholder, isListPlaceholder, spelling } = comparison;
  const text = pathText(path);
  const left = isPathPlaceholder === true ? params.add(text) : text;
  const signs = spellings[comparator];
  const sign = signs[spelling % signs.length] ?? comparator;
  if (comparator !== 'in') {
    return `${left}${sign}${operands.map((each) => operandText(each, spelling, params)).join('')}`;
  }
  if (isListPlaceholder === true) {
    return `${left}${sign}${params.add(operands.map(({ value }) => value))}`;
  }
  const items = operands.map((each, index) => operandText(each, spelling + index, params));
  return `${left}${sign}[${items.join(spelling % 2 === 0 ? ', ' : ' ,')}]`;
}

export function pathText(path: readonly WrittenStep[]): string {
  const steps = path.map(({ name, ordinal, element }) => {
    const number = ordinal === undefined ? '' : `{${String(ordinal)}}`;
    return `${name}${number}${element === undefined ? '' : `[${element}]`}`;
  });
  return steps.join('.');
}

function operandText({ value, writing }: Operand, spelling: number, params: Params): string {
  if (writing === 'placeholder') return params.add(value);
  if (writing === 'bare' || typeof value !== 'string') return String(value);
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

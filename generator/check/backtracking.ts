import { type AST, visitRegExpAST } from '@eslint-community/regexpp';
import { isDisjointWith, JS, NFA, TooManyNodesError } from 'refa';
import { analyse } from 'scslre';

/** How the time of a pattern for a text that it does not match may grow with the text. */
interface Backtracking {
  readonly growth: 'exponential' | 'polynomial';
  /** The part of the pattern that can match the same characters in several ways. */
  readonly part: string;
}

/** A group with alternatives, capturing or not. */
type Alternatives = AST.Group | AST.CapturingGroup;

/** Longer patterns are not analysed. */
const longestPattern = 500;
/** States of an automaton, or of two that are compared: larger ones are not analysed. */
const mostStates = 500;
const mostPairs = 5000;

/**
 * The worst backtracking of a pattern. scslre finds attacks that repeat one character; ambiguous
 * repetitions, which scslre does not find, are found here.
 */
export function backtrackingOf(pattern: RegExp): Backtracking | undefined {
  if (pattern.source.length > longestPattern) return undefined;
  const ambiguous = ambiguousRepetition(pattern);
  if (ambiguous !== undefined) return { growth: 'exponential', part: ambiguous };
  const { reports } = analyse(pattern);
  const worst = reports.find(({ exponential }) => exponential) ?? reports[0];
  if (worst === undefined) return undefined;
  const { raw } = worst.type === 'Trade' ? worst.startQuant : worst.quant;
  return { growth: worst.exponential ? 'exponential' : 'polynomial', part: raw };
}

/**
 * The innermost repetition that can match the same text in several ways: as one round and as
 * several rounds, or by several alternatives of one round.
 */
function ambiguousRepetition(pattern: RegExp): string | undefined {
  const parser = JS.Parser.fromLiteral(pattern);
  let found: string | undefined;
  let repetitions = 0;
  const compareRounds = ({ element, raw }: AST.Quantifier): void => {
    const once = automatonOf(parser, element);
    const more = once.copy();
    more.quantify(2, Infinity);
    if (overlap(once, more)) found = raw;
  };
  const compareAlternatives = ({ alternatives, raw }: Alternatives): void => {
    if (repetitions === 0 || found !== undefined) return;
    const all = alternatives.map((each) => automatonOf(parser, each));
    if (all.some((one, index) => all.slice(0, index).some((other) => overlap(one, other)))) {
      found = raw;
    }
  };
  try {
    visitRegExpAST(parser.ast.pattern, {
      onQuantifierEnter: ({ max }) => {
        if (max === Infinity) repetitions += 1;
      },
      onQuantifierLeave: (quantifier) => {
        if (quantifier.max !== Infinity) return;
        repetitions -= 1;
        if (found === undefined) compareRounds(quantifier);
      },
      onGroupLeave: compareAlternatives,
      onCapturingGroupLeave: compareAlternatives,
    });
  } catch (error) {
    if (!(error instanceof TooManyNodesError)) throw error;
  }
  return found;
}

/**
 * Assertions and references to groups match nothing here: problems that need them are not reported.
 */
function automatonOf(parser: JS.Parser, element: AST.Element | AST.Alternative): NFA {
  const { expression, maxCharacter } = parser.parseElement(element, {
    assertions: 'disable',
    backreferences: 'disable',
  });
  const factory = new NFA.LimitedNodeFactory(mostStates);
  const automaton = NFA.fromRegex(expression, { maxCharacter }, {}, factory);
  // A round without characters ends a repetition.
  automaton.withoutEmptyWord();
  return automaton;
}

function overlap(one: NFA, other: NFA): boolean {
  return !isDisjointWith(one, other, mostPairs);
}

import { type CST, Parser, type YAMLError } from 'yaml';
import { problemKinds, type YamlProblem, type YamlProblemKind } from './yaml-problem.js';

/**
 * After these errors the parser is lost: later errors are consequences, or cannot be distinguished
 * from them.
 */
const structural: ReadonlySet<YamlProblemKind> = new Set<YamlProblemKind>([
  'indent',
  'key',
  'missing-character',
  'syntax',
  'tab',
  'too-deep',
  'unexpected-character',
]);

/**
 * The errors of a text as YAML: in its order, up to the first one that hides the meaning of the
 * rest.
 */
export function syntaxProblems(
  failures: readonly YAMLError[],
  text: string,
): readonly YamlProblem[] {
  const problems = failures
    .map((error) => ({ error, ...problemOf(error, text) }))
    .sort((one, other) => one.start - other.start);
  const lost = problems.findIndex(({ kind }) => structural.has(kind));
  const told = lost < 0 ? problems : problems.slice(0, lost + 1);
  return told.map(
    ({ error, ...each }) => unquotedList(each, text) ?? unclosed(error, text) ?? each,
  );
}

function problemOf(error: YAMLError, { length }: string): YamlProblem {
  const [start, end] = error.pos.map((offset) => Math.min(offset, length)) as [number, number];
  return { kind: problemKinds[error.code], detail: error.message, start, end, path: '' };
}

/**
 * The parser's messages if the end of a list or mapping in brackets is missing, or what follows is
 * taken as part of it.
 */
const missingEnd =
  /^Flow (?:map|sequence) .*end with a|^Implicit keys need|^Block collections are not allowed/;

/** The bracket that is never closed, instead of the line in which the parser notices that. */
function unclosed(error: YAMLError, text: string): YamlProblem | undefined {
  if (!missingEnd.test(error.message)) return undefined;
  const start = openBrackets(text).findLast((offset) => offset <= error.pos[0]);
  if (start === undefined) return undefined;
  return { kind: 'unclosed', detail: text.charAt(start), start, end: start + 1, path: '' };
}

/** The positions of brackets that end only with the text or with their indentation. */
function openBrackets(text: string): readonly number[] {
  const found: number[] = [];
  const stack: unknown[] = [...new Parser().parse(text)];
  while (stack.length > 0) {
    const token = stack.pop();
    if (!isToken(token)) continue;
    if (token.type === 'flow-collection') {
      const end = token.start.source === '{' ? 'flow-map-end' : 'flow-seq-end';
      if (!token.end.some(({ type }) => type === end)) found.push(token.start.offset);
    }
    if ('value' in token) stack.push(token.value);
    if (!('items' in token)) continue;
    for (const { key, value } of token.items) stack.push(key, value);
  }
  return found.sort((a, b) => a - b);
}

function isToken(value: unknown): value is CST.Token {
  return typeof value === 'object' && value !== null && 'type' in value;
}

/** Longer than any type of a list can be. */
const longestType = 200;

/**
 * `{ returns: Item[] }`: inside braces `[` ends a plain text, and the parser complains about
 * tokens.
 */
function unquotedList({ kind, start }: YamlProblem, text: string): YamlProblem | undefined {
  if (kind !== 'unexpected-character') return undefined;
  const [brackets] = /^(?:\[\])+/.exec(text.slice(start, start + longestType)) ?? [];
  const [name] =
    /[\p{L}\p{N}_.]+$/u.exec(text.slice(Math.max(0, start - longestType), start)) ?? [];
  if (brackets === undefined || name === undefined) return undefined;
  const place = { start: start - name.length, end: start + brackets.length, path: '' };
  return { kind: 'unquoted-list', detail: name + brackets, ...place };
}

import type { YAMLError } from 'yaml';
import { problemKinds, type YamlProblem, type YamlProblemKind } from './yaml-problem.js';

/** Behind these the reader has lost its way: what it tells then are consequences, or cannot be told from them. */
const structural: ReadonlySet<YamlProblemKind> = new Set<YamlProblemKind>([
  'indent',
  'key',
  'missing-character',
  'syntax',
  'tab',
  'too-deep',
  'unexpected-character',
]);

/** What is wrong with a text as YAML: in its order, up to the first slip that hides how the rest is meant. */
export function syntaxProblems(
  failures: readonly YAMLError[],
  text: string,
): readonly YamlProblem[] {
  const problems = failures
    .map((each) => problemOf(each, text))
    .sort((one, other) => one.start - other.start);
  const lost = problems.findIndex(({ kind }) => structural.has(kind));
  const told = lost < 0 ? problems : problems.slice(0, lost + 1);
  return told.map((each) => unquotedList(each, text) ?? each);
}

function problemOf(error: YAMLError, { length }: string): YamlProblem {
  const [start, end] = error.pos.map((offset) => Math.min(offset, length)) as [number, number];
  return { kind: problemKinds[error.code], detail: error.message, start, end, path: '' };
}

/** Longer than any type of a list can be. */
const longestType = 200;

/** `{ returns: Item[] }`: inside braces `[` ends a plain text, and the reader speaks of tokens. */
function unquotedList({ kind, start }: YamlProblem, text: string): YamlProblem | undefined {
  if (kind !== 'unexpected-character') return undefined;
  const [brackets] = /^(?:\[\])+/.exec(text.slice(start, start + longestType)) ?? [];
  const [name] =
    /[\p{L}\p{N}_.]+$/u.exec(text.slice(Math.max(0, start - longestType), start)) ?? [];
  if (brackets === undefined || name === undefined) return undefined;
  const place = { start: start - name.length, end: start + brackets.length, path: '' };
  return { kind: 'unquoted-list', detail: name + brackets, ...place };
}

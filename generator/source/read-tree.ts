import { parseDocument } from 'yaml';
import { aliasTargets } from './aliases.js';
import { buildTree } from './build-tree.js';
import { problemKinds } from './yaml-problem.js';
import type { YAMLError } from 'yaml';
import type { BuiltTree } from './build-tree.js';
import type { YamlProblem } from './yaml-problem.js';

/** Reads YAML 1.2, and so JSON too, into a tree whose nodes know where they stand. */
export function readTree(file: string, text: string): BuiltTree {
  const document = parseDocument(text, {
    prettyErrors: false,
    // Equal keys are looked for below, in linear time; a version directive must not bring back the yes and no of YAML 1.1.
    uniqueKeys: false,
    schema: 'core',
    resolveKnownTags: false,
    stringKeys: true,
    logLevel: 'error',
  });
  const failures = [...document.errors, ...document.warnings];
  if (failures.length > 0) {
    return { problems: firstAtEachPlace(failures.map((each) => problemOf(each, text.length))) };
  }
  // Few files have anchors, and to look for them takes a walk over the whole document.
  const targets = text.includes('&') ? aliasTargets(document) : new Map<never, never>();
  return buildTree(file, document, targets);
}

function problemOf(error: YAMLError, length: number): YamlProblem {
  const [start, end] = error.pos.map((offset) => Math.min(offset, length)) as [number, number];
  return { kind: problemKinds[error.code], detail: error.message, start, end, path: '' };
}

/** One slip makes the reader stumble several times; the first time tells what it is. */
function firstAtEachPlace(problems: readonly YamlProblem[]): readonly YamlProblem[] {
  const seen = new Set<number>();
  return problems.filter(({ start }) => {
    const isFirst = !seen.has(start);
    seen.add(start);
    return isFirst;
  });
}

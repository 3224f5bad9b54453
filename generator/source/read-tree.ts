import { parseDocument } from 'yaml';
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
  if (failures.length > 0) return { problems: failures.map(problemOf) };
  return buildTree(file, document);
}

function problemOf(error: YAMLError): YamlProblem {
  const [start, end] = error.pos;
  return { kind: problemKinds[error.code], detail: error.message, start, end, path: '' };
}

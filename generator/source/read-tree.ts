import { parseDocument } from 'yaml';
import { aliasTargets } from './aliases.js';
import { buildTree } from './build-tree.js';
import { syntaxProblems } from './syntax-problems.js';
import type { BuiltTree } from './build-tree.js';

/** Reads YAML 1.2, and so JSON too, into a tree whose nodes know their places. */
export function readTree(file: string, text: string): BuiltTree {
  const document = parseDocument(text, {
    prettyErrors: false,
    // Equal keys are found below, in linear time; a version directive must not bring back the yes
    // and no of YAML 1.1.
    uniqueKeys: false,
    schema: 'core',
    resolveKnownTags: false,
    stringKeys: true,
    logLevel: 'error',
  });
  const failures = [...document.errors, ...document.warnings];
  if (failures.length > 0) {
    return { problems: syntaxProblems(failures, text) };
  }
  // Few files have anchors, and finding them takes a walk over the whole document.
  const targets = text.includes('&') ? aliasTargets(document) : new Map<never, never>();
  return buildTree(file, document, targets);
}

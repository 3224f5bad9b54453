import { decodeText } from '../source/decode-text.js';
import { readTree } from '../source/read-tree.js';
import type { SourceNode } from '../source/tree.js';
import type { YamlProblem } from '../source/yaml-problem.js';
import type { Report } from './report.js';

interface ReadFile {
  /** Absent if the file cannot be understood at all. */
  readonly root?: SourceNode;
  readonly text: string;
}

/** Reads a file into a tree and reports what is wrong with it as YAML. */
export function readFile(report: Report, file: string, source: string | Uint8Array): ReadFile {
  const { text, problem } = decodeText(source);
  if (problem !== undefined) {
    tell(report, file, problem);
    return { text };
  }
  const { root, problems } = readTree(file, text);
  for (const each of problems) tell(report, file, each);
  return root === undefined ? { text } : { text, root };
}

function tell(report: Report, file: string, problem: YamlProblem): void {
  const { kind, detail, start, end, path } = problem;
  report(`yaml/${kind}`, { detail }, { file, start, end, path });
}

import { entry, textOf } from '../../source/tree.js';
import { checkRolesShape } from '../shape/check-shape.js';
import { readFile } from '../yaml-problems.js';
import type { SourceNode } from '../../source/tree.js';
import type { Context } from '../context.js';

/** Where roles can be read from, and what has been read so far. */
export interface RolesInput {
  readonly modelFile: string;
  readonly readBeside: (relativePath: string) => string | Uint8Array | undefined;
  /** Text of each file that was read, by its name. */
  readonly sources: Map<string, string>;
}

/** The roles of the model, written in it or in a file next to it; their shape has been checked. */
export function rolesNode(
  context: Context,
  root: SourceNode,
  input: RolesInput,
): SourceNode | undefined {
  const given = entry(root, 'roles');
  if (given === undefined) return undefined;
  const path = textOf(given.value);
  if (path === undefined) {
    checkRolesShape(context, { node: given.value, key: given.key });
    return given.value;
  }
  const node = rolesFile(context, given.value, path, input);
  if (node !== undefined) checkRolesShape(context, { node });
  return node;
}

function rolesFile(
  { report }: Context,
  at: SourceNode,
  path: string,
  { modelFile, readBeside, sources }: RolesInput,
): SourceNode | undefined {
  const parts = path.split(/[/\\]/);
  if (/^(?:[/\\]|[A-Za-z]:)/.test(path) || parts.includes('..') || path.includes('\0')) {
    report('roles/file-outside', { path: JSON.stringify(path) }, at);
    return undefined;
  }
  const source = path === '' ? undefined : readBeside(path);
  if (source === undefined) {
    report('roles/file-not-found', { path: JSON.stringify(path) }, at);
    return undefined;
  }
  const folder = modelFile.slice(
    0,
    Math.max(...['/', '\\'].map((each) => modelFile.lastIndexOf(each))) + 1,
  );
  const file = `${folder}${path}`;
  const { root, text } = readFile(report, file, source);
  // A model that names itself keeps the text that it has.
  if (!sources.has(file)) sources.set(file, text);
  return root;
}

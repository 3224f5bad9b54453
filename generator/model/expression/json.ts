import { sqlConstant } from '../sql-text.js';
import type { Node } from './ast.js';
import { NotPortable } from './not-portable.js';
import { type Printed, text } from './printed.js';

const step = /\.(?:"([^"]*)"|([^.["]+))|\[(\d+)\]/y;

/** Writes `document -> path` and `document ->> path`. */
export function printJsonPiece(operator: '->' | '->>', document: Printed, path: Node): Printed {
  if (path.kind === 'text') {
    const steps = path.value.startsWith('$') ? stepsOf(path.value) : [path.value];
    return found(operator, document, steps);
  }
  if (path.kind === 'integer') return found(operator, document, [path.text]);
  throw new NotPortable(`what follows ${operator} is neither a text nor a number`);
}

/** Writes `json_extract(document, path)`, whose result is an SQL value in SQLite. */
export function printJsonExtract(document: Printed, path: Node): Printed {
  if (path.kind !== 'text') throw new NotPortable('the path of json_extract is no plain text');
  return found('->>', document, stepsOf(path.value));
}

function found(operator: '->' | '->>', document: Printed, steps: readonly string[]): Printed {
  if (document.kind !== 'text' && document.kind !== 'json') {
    throw new NotPortable('it reads a property of a value that is not JSON');
  }
  const sql = `drs_x_json(${document.sql}, ARRAY[${steps.map(sqlConstant).join(', ')}]::text[])`;
  return operator === '->' ? text(sql) : { sql, kind: 'json' };
}

function stepsOf(path: string): readonly string[] {
  const steps: string[] = [];
  if (!path.startsWith('$')) throw new NotPortable(`the path ${path} does not begin with $`);
  step.lastIndex = 1;
  while (step.lastIndex < path.length) {
    const next = step.exec(path);
    if (next === null) throw new NotPortable(`the path ${path} is none of names and positions`);
    steps.push(next[1] ?? next[2] ?? next[3] ?? '');
  }
  return steps;
}

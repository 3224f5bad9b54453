import { fold } from '../../runtime/protocol/fold.js';
import { eventNames, isOneOf, oldEventNames, type accessors } from '../source/vocabulary.js';
import type { SourceText } from './files.js';
import type { SourceType, StorageType } from './source-model.js';

// Class files of 4D (.4dm) and Qodly (.4qs): exact names, types where they are written, and the
// text of each function. Nothing of the code is translated or run.

export type Accessor = (typeof accessors)[number];
export type EventName = (typeof eventNames)[number];

export interface Declaration {
  readonly kind: 'function' | Accessor | 'event' | 'alias' | 'constructor';
  readonly name: string;
  /** `exposed`, `local`, `onhttpget`, … */
  readonly modifiers: ReadonlySet<string>;
  readonly params: readonly { readonly name: string; readonly type: string }[];
  /** The type of the result as it is written; `undefined` if the source does not say it. */
  readonly returns: string | undefined;
  /** The rest of the list of parameters is open. */
  readonly isVariadic: boolean;
  /** The path of an alias. */
  readonly path: readonly string[];
  /** The lines of the declaration and its body. */
  readonly source: string;
  readonly place: string;
}

export interface ClassFile {
  readonly name: string;
  readonly path: string;
  readonly extends: string | undefined;
  readonly declarations: readonly Declaration[];
  /** What stands before the first declaration. */
  readonly head: string;
}

const modifier = '(?:exposed|local|shared|server|onhttpget|singleton|session)';
const identifier = '[\\p{L}_][\\p{L}\\p{N}_]*';
const functionForm = new RegExp(
  `^((?:${modifier}\\s+)*)function\\s+(?:(get|set|query|orderby|event)\\s+(?=[\\p{L}_]))?(${identifier})\\s*(.*)$`,
  'iu',
);
const eventForm = new RegExp(`^(${identifier})?\\s*(.*)$`, 'iu');
const aliasForm = new RegExp(
  `^((?:${modifier}\\s+)*)alias\\s+(${identifier})\\s+([\\p{L}\\p{N}_. ]+)$`,
  'iu',
);
const constructorForm = new RegExp(
  `^((?:${modifier}\\s+)*)(?:class\\s+)?constructor\\b(.*)$`,
  'iu',
);
const extendsForm = new RegExp(`^(?:class\\s+)?extends\\s+([\\p{L}\\p{N}_.]+)`, 'iu');

/** Lines longer than this declare nothing. */
const longestLine = 4000;

export function readClass(name: string, { path, text }: SourceText): ClassFile {
  const lines = text.split(/\r\n|\r|\n/);
  const clean = withoutComments(lines);
  const starts: { readonly line: number; readonly found: Omit<Declaration, 'source' | 'place'> }[] =
    [];
  let base: string | undefined;
  for (let line = 0; line < clean.length; line += 1) {
    let code = clean[line] ?? '';
    const first = line;
    while (code.endsWith('\\') && line + 1 < clean.length && code.length < longestLine) {
      line += 1;
      code = `${code.slice(0, -1).trimEnd()} ${(clean[line] ?? '').trim()}`;
    }
    if (code === '' || code.length > longestLine) continue;
    const token = code.replaceAll(/:[CK]\d+(?::\d+)?(?=[\s.;,)(]|$)/g, '');
    const extended = extendsForm.exec(token)?.[1];
    if (extended !== undefined) base ??= extended;
    const found = declarationOf(token, clean.slice(line + 1, line + 20));
    if (found !== undefined) starts.push({ line: first, found });
  }
  const until = (index: number): number => starts[index + 1]?.line ?? lines.length;
  return {
    name,
    path,
    extends: base,
    declarations: starts.map(({ line, found }, index) => ({
      ...found,
      source: lines.slice(line, until(index)).join('\n').trimEnd(),
      place: `${path}:${String(line + 1)}`,
    })),
    head: lines
      .slice(0, starts[0]?.line ?? lines.length)
      .join('\n')
      .trim(),
  };
}

/** Code alone: no comments, no blanks around it. */
function withoutComments(lines: readonly string[]): readonly string[] {
  let isInside = false;
  return lines.map((line) => {
    let code = '';
    for (let at = 0; at < line.length;) {
      if (isInside) {
        const end = line.indexOf('*/', at);
        if (end === -1) break;
        isInside = false;
        at = end + 2;
        continue;
      }
      const character = line[at] ?? '';
      if (character === '"') {
        const end = endOfText(line, at);
        code += line.slice(at, end);
        at = end;
      } else if (line.startsWith('//', at)) break;
      else if (line.startsWith('/*', at)) {
        isInside = true;
        at += 2;
      } else {
        code += character;
        at += 1;
      }
    }
    return code.trim();
  });
}

function endOfText(line: string, start: number): number {
  for (let at = start + 1; at < line.length; at += 1) {
    if (line[at] === '\\') at += 1;
    else if (line[at] === '"') return at + 1;
  }
  return line.length;
}

function declarationOf(
  code: string,
  body: readonly string[],
): Omit<Declaration, 'source' | 'place'> | undefined {
  const plain = { params: [], returns: undefined, isVariadic: false, path: [] };
  const alias = aliasForm.exec(code);
  if (alias !== null) {
    const [, modifiers = '', name = '', path = ''] = alias;
    const steps = path.split('.').map((each) => each.trim());
    return { ...plain, kind: 'alias', name, modifiers: wordsOf(modifiers), path: steps };
  }
  const constructor = constructorForm.exec(code);
  if (constructor !== null) {
    const [, modifiers = ''] = constructor;
    return { ...plain, kind: 'constructor', name: 'constructor', modifiers: wordsOf(modifiers) };
  }
  const found = functionForm.exec(code);
  if (found === null) return undefined;
  const [, modifiers = '', kind = 'function', name = '', rest = ''] = found;
  const shared = { ...plain, modifiers: wordsOf(modifiers) };
  switch (fold(kind)) {
    case 'event': {
      // `event saving price` belongs to the attribute price.
      const [, attribute = ''] = eventForm.exec(rest) ?? [];
      return { ...shared, kind: 'event', name, path: attribute === '' ? [] : [attribute] };
    }
    case 'get':
    case 'set':
    case 'query':
      return { ...shared, kind: fold(kind) as 'get', name, ...signatureOf(rest, []) };
    case 'orderby':
      return { ...shared, kind: 'orderBy', name, ...signatureOf(rest, []) };
    default:
      return { ...shared, kind: 'function', name, ...signatureOf(rest, body) };
  }
}

function wordsOf(text: string): ReadonlySet<string> {
  return new Set(
    text
      .toLowerCase()
      .split(/\s+/)
      .filter((each) => each !== ''),
  );
}

type Signature = Pick<Declaration, 'params' | 'returns' | 'isVariadic'>;

/** `($a : Text; $b : cs.XEntity) -> $r : Type`, or `: Type` behind the parentheses. */
function signatureOf(rest: string, body: readonly string[]): Signature {
  const open = /^\(([^)]*)\)?(.*)$/.exec(rest);
  const list = open === null ? '' : (open[1] ?? '');
  const tail = open === null ? rest : (open[2] ?? '');
  const params: { name: string; type: string }[] = [];
  let isVariadic = false;
  for (const each of list.split(/[;,]/)) {
    const [name = '', type = ''] = each.split(':').map((part) => part.trim());
    if (name === '') continue;
    if (name.startsWith('...') || name.startsWith('${')) isVariadic = true;
    else params.push({ name: name.replace(/^\$/, ''), type });
  }
  const returns = /^\s*(?:->\s*\$?[\p{L}\p{N}_]*\s*)?:\s*([\p{L}\p{N}_.]+)/u.exec(tail)?.[1];
  const signature = { params, returns, isVariadic };
  return params.length === 0 && returns === undefined ? olderSignature(body, signature) : signature;
}

/** Parameters that the first lines of the body declare: `C_TEXT($1; $2)`, `var $1 : Text`, `#DECLARE(…)`. */
function olderSignature(body: readonly string[], signature: Signature): Signature {
  const types = new Map<number, string>();
  for (const line of body) {
    if (functionForm.test(line)) break;
    const declare = /^#declare\s*(\(.*)$/i.exec(line)?.[1];
    if (declare !== undefined) return signatureOf(declare.replaceAll(/:[CK]\d+/g, ''), []);
    const compiler = /^C_([A-Z]+)(?::C\d+)?\s*\(([^)]*)\)/i.exec(line);
    const variables = /^var\s+([^:]+):\s*([\p{L}\p{N}_.]+)/iu.exec(line);
    const names = compiler?.[2] ?? variables?.[1] ?? '';
    const type = compiler?.[1] ?? variables?.[2] ?? '';
    for (const each of names.split(/[;,]/)) {
      const number = /^\s*\$(\d{1,2})\s*$/.exec(each)?.[1];
      if (number !== undefined) types.set(Number(number), type);
    }
  }
  const count = Math.max(0, ...types.keys());
  const params = Array.from({ length: count }, (_, index) => ({
    name: `p${String(index + 1)}`,
    type: types.get(index + 1) ?? '',
  }));
  return { ...signature, params, returns: types.get(0) };
}

const plainTypes: Readonly<Record<string, string>> = {
  text: 'string',
  string: 'string',
  boolean: 'boolean',
  integer: 'integer',
  longint: 'integer',
  real: 'number',
  number: 'number',
  date: 'date',
  time: 'duration',
  object: 'object',
  picture: 'image',
  image: 'image',
  blob: 'blob',
  collection: 'any[]',
};

/** A written type as one of the model; `any` where the model has none. */
export function typeOf(written: string | undefined, isResult: boolean): SourceType {
  const text = written ?? '';
  const lower = fold(text);
  const plain = Object.hasOwn(plainTypes, lower) ? plainTypes[lower] : undefined;
  if (plain !== undefined) return { kind: 'plain', type: plain };
  if (isResult && lower === '4d.outgoingmessage') return { kind: 'plain', type: 'message' };
  const [, entity] = /^cs\.(.+)Entity$/iu.exec(text) ?? [];
  if (entity !== undefined) return { kind: 'entity', table: entity };
  const [, selection] = /^cs\.(.+)Selection$/iu.exec(text) ?? [];
  if (selection !== undefined) return { kind: 'selection', table: selection };
  return { kind: 'plain', type: 'any' };
}

/** The type of a computed attribute; unknown ones are objects. */
export function computedType(written: string | undefined): StorageType {
  const { kind, type } = { type: 'object', ...typeOf(written, false) };
  return kind === 'plain' && type !== 'any' && type !== 'any[]' ? (type as StorageType) : 'object';
}

/** Whether a 4D project can have an event of this name. */
export function isEvent(name: string): name is EventName {
  return isOneOf(eventNames, name) && !oldEventNames.includes(name);
}

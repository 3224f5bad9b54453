import { join } from 'node:path';
import { userClasses } from '../emit/classes/user-classes.js';
import { emitContext } from '../emit/context.js';
import { Templates } from '../emit/templates.js';
import { userClassView } from '../emit/views/classes/user-class.js';
import type { Model } from '../model/model.js';
import type { Declaration } from './classes.js';
import type { OldClass, OldCode } from './project.js';
import type { Draft } from './render.js';

/** Files longer than this are named, not copied. */
const mostLines = 200;

/**
 * The classes that the model asks for, as a first generation writes them, with the old source of each
 * member above it.
 * @param draft what the model was made of, in the same order
 */
export function classFiles(
  model: Model,
  draft: Draft,
  oldCode: OldCode,
  packageRoot: string,
): readonly { readonly path: string; readonly text: string }[] {
  if (oldCode.size === 0) return [];
  const context = emitContext(model, 'model.yaml');
  const templates = new Templates(join(packageRoot, 'templates'));
  const old = new Map<string, OldClass | undefined>([['DataStore', oldCode.get('datastore')]]);
  for (const [index, dataclass] of model.dataclasses.entries()) {
    const { written } = context.classNames.of(dataclass);
    const id = draft.dataclasses[index]?.id ?? '';
    for (const level of ['dataclass', 'selection', 'entity'] as const) {
      old.set(written[level], oldCode.get(`${id}:${level}`));
    }
  }
  for (const [index, singleton] of model.singletons.entries()) {
    const { written } = context.classNames.ofSingleton(singleton);
    old.set(written, oldCode.get(draft.singletons[index]?.id ?? ''));
  }
  return userClasses(model, context.classNames).map((each) => {
    const text = templates.render('src/classes/class.ts', userClassView(each));
    const found = old.get(each.name);
    const path = each.path.replace(/^src\//, '');
    return { path, text: found === undefined ? text : withSource(text, found) };
  });
}

function withSource(text: string, { file, triggers }: OldClass): string {
  const lines = text.trimEnd().split('\n');
  const rest: string[] = file.head === '' ? [] : [file.head];
  for (const each of file.declarations.toReversed()) {
    const at = lines.findIndex((line) => declares(line, each));
    if (at === -1) rest.splice(file.head === '' ? 0 : 1, 0, each.source);
    else lines.splice(at, 0, ...comment(each.source, each.place, '  '));
  }
  for (const { path, text: source } of triggers) {
    const at = lines.findIndex((line) => /^ {2}(?:async )?(?:saving|dropping)\(/.test(line));
    lines.splice(at === -1 ? lines.length : at, 0, ...comment(source, path, at === -1 ? '' : '  '));
  }
  if (rest.length > 0) lines.push('', ...comment(rest.join('\n\n'), file.path, ''));
  return `${lines.join('\n')}\n`;
}

/** Whether a line of a stub begins the method for a declaration. */
function declares(line: string, { kind, name }: Declaration): boolean {
  const upper = name.slice(0, 1).toUpperCase() + name.slice(1);
  const method =
    kind === 'get' || kind === 'set'
      ? `${kind} ${name}(`
      : kind === 'query' || kind === 'orderBy'
        ? `${kind}${upper}(`
        : kind === 'function' || kind === 'event'
          ? `${name}(`
          : undefined;
  if (method === undefined || !line.startsWith('  ') || line.startsWith('   ')) return false;
  return line
    .slice(2)
    .replace(/^async /, '')
    .startsWith(method);
}

function comment(source: string, place: string, indent: string): readonly string[] {
  const lines = source
    .replaceAll('*/', '* /')
    .replaceAll(/(?![\n\t])[\p{Cc}\p{Cs}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, ' ')
    .trimEnd()
    .split('\n');
  const shown = lines.slice(0, mostLines);
  if (lines.length > mostLines) shown.push(`… ${String(lines.length - mostLines)} more lines`);
  const from = place.replaceAll('*/', '* /').replaceAll(/\p{C}/gu, ' ');
  return [
    `${indent}/*`,
    `${indent} * ${from}`,
    `${indent} *`,
    ...shown.map((line) => `${indent} * ${line}`.trimEnd()),
    `${indent} */`,
  ];
}

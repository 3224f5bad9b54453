import { fold } from '../../runtime/protocol/fold.js';
import type { SourceKey } from '../source/tree.js';
import type { Context } from './context.js';

const maxLength = 63;

/** The rules for names of dataclasses, attributes, functions, parameters and singletons. */
export function checkName({ report }: Context, key: SourceKey): void {
  const { name } = key;
  const length = Array.from(name).length;
  if (length === 0) {
    report('name/empty', {}, key);
    return;
  }
  const wrong = wrongCharacter(name);
  if (wrong !== undefined) {
    report('name/bad-character', { name, character: shown(wrong) }, key);
  } else if (name.startsWith('__')) {
    report('name/reserved-prefix', { name }, key);
  } else if (length > maxLength) {
    report('name/too-long', { name, length }, key);
  }
}

function wrongCharacter(name: string): string | undefined {
  if (/^[\p{L}_][\p{L}\p{N}_]*$/u.test(name)) return undefined;
  return Array.from(name).find(
    (each, index) => !(index === 0 ? /^[\p{L}_]$/u : /^[\p{L}\p{N}_]$/u).test(each),
  );
}

/** A visible character as itself, any other as its code point. */
function shown(character: string): string {
  if (character === ' ') return 'a space';
  if (/^[\p{L}\p{N}\p{P}\p{S}]$/u.test(character)) return character;
  const code = character.codePointAt(0) ?? 0;
  return `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}

/** The characters of a name for clients; the runtime reads them in brackets (`runtime/protocol/names.ts`). */
const restCharacter = /^[\p{L}\p{M}\p{N}_ #%&@°€£§-]$/u;

/** Why clients cannot use a name; `undefined` if they can. */
export function wrongRestName(name: string): string | undefined {
  const wrong = Array.from(name).find((each) => !restCharacter.test(each));
  if (wrong !== undefined) {
    return `cannot hold ${shown(wrong)}: it consists of letters, digits, spaces and _ - # % & @ ° € £ §`;
  }
  if (name !== name.normalize('NFC'))
    return 'is decomposed Unicode: write it in the composed form (NFC)';
  if (name !== name.trim()) return 'begins or ends with a space';
  if (name.startsWith('__')) return 'begins with __, and such names belong to the protocol';
  if (/ (?:asc|desc)$/i.test(name))
    return 'ends with asc or desc, which $orderby reads as a direction';
  if (/^\d+$/.test(name)) return 'is a whole number, and needs a letter or _';
  return undefined;
}

/** Names of one scope must differ in more than case; the later one is reported. */
export function checkUnique({ report }: Context, scope: string, keys: Iterable<SourceKey>): void {
  const first = new Map<string, string>();
  for (const key of keys) {
    const { name } = key;
    const folded = fold(name);
    const other = first.get(folded);
    if (other === undefined) first.set(folded, name);
    else report('name/duplicate', { name, other, scope }, key);
  }
}

/** Names that a class or the protocol uses itself. */
export function checkReserved(
  { report }: Context,
  key: SourceKey,
  members: ReadonlySet<string>,
  owner: string,
): void {
  if (members.has(key.name)) report('name/reserved', { name: key.name, owner }, key);
}

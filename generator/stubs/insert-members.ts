import { ts } from 'ts-morph';
import type { FoundClass } from './find-class.js';
import type { Insertion } from './insertions.js';
import { indentAt, restyled, type Style } from './style.js';

/**
 * Adds members behind those of a class.
 * @param members as code, indented by two spaces
 */
export function insertMembers(
  { file, node }: FoundClass,
  members: readonly string[],
  style: Style,
): readonly Insertion[] {
  const { text } = file;
  const { newline } = style;
  const close = node.end - 1;
  const classIndent = indentAt(text, node.getStart());
  const code = members
    .map((each) => restyled(each, memberStyle(text, node, style, classIndent), classIndent))
    .join(newline + newline);
  const lineStart = text.lastIndexOf('\n', close - 1) + 1;
  const inside = text.slice(node.members.pos, close);
  const isOnOwnLine = lineStart > node.members.pos && text.slice(lineStart, close).trim() === '';
  const separators = missingSemicolon(node, members);
  if (isOnOwnLine) {
    const above = text.slice(node.members.pos, lineStart);
    const hasGap = above.trim() === '' || /\n[ \t]*\r?\n$/.test(above);
    return [...separators, { at: lineStart, text: `${hasGap ? '' : newline}${code}${newline}` }];
  }
  const gap = inside.trim() === '' ? newline : newline + newline;
  return [...separators, { at: close, text: `${gap}${code}${newline}${classIndent}` }];
}

/** Members follow the indentation of the existing ones. */
function memberStyle(
  text: string,
  node: ts.ClassLikeDeclaration,
  style: Style,
  classIndent: string,
): Style {
  for (const member of node.members) {
    const start = member.getStart();
    const indent = indentAt(text, start);
    const isFirstInLine = text.slice(0, start).endsWith(`\n${indent}`);
    if (isFirstInLine && indent.length > classIndent.length && indent.startsWith(classIndent)) {
      return { ...style, indent: indent.slice(classIndent.length) };
    }
  }
  return style;
}

/** A property without a semicolon would absorb what follows. */
function missingSemicolon(
  { members }: ts.ClassLikeDeclaration,
  added: readonly string[],
): readonly Insertion[] {
  const last = members.at(-1);
  if (last === undefined || !ts.isPropertyDeclaration(last)) return [];
  if (last.getText().endsWith(';')) return [];
  const begins = (added[0] ?? '').replace(/^\s*\/\*\*.*?\*\/\s*/s, '').trimStart();
  const isBare = last.initializer === undefined && last.type === undefined;
  return isBare || /^[['"]/.test(begins) ? [{ at: last.end, text: ';' }] : [];
}

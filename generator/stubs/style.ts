/** The style of a file, which insertions follow. */
export interface Style {
  readonly newline: '\n' | '\r\n';
  /** One level of indentation. */
  readonly indent: string;
}

export function styleOf(text: string): Style {
  const lines = text.split('\n');
  const windows = lines.filter((line) => line.endsWith('\r')).length;
  return {
    newline: windows * 2 >= lines.length - 1 && windows > 0 ? '\r\n' : '\n',
    indent: indentOf(lines),
  };
}

/**
 * The least indentation of a line; lines of comments that begin with a star are indented by one
 * more blank.
 */
function indentOf(lines: readonly string[]): string {
  const found = lines
    .map((line) => /^([ \t]+)[^\s*]/.exec(line)?.[1])
    .filter((each) => each !== undefined)
    .sort((a, b) => a.length - b.length);
  return found[0] ?? '  ';
}

/** Code that is indented by two spaces a level, in the style of a file and indented by `before`. */
export function restyled(code: string, { newline, indent }: Style, before: string): string {
  return code
    .split('\n')
    .map((line) => {
      const spaces = line.length - line.trimStart().length;
      if (spaces === line.length) return '';
      const level = Math.floor(spaces / 2);
      return `${before}${indent.repeat(level)}${line.slice(level * 2)}`;
    })
    .join(newline);
}

/** The blanks at the beginning of an offset's line. */
export function indentAt(text: string, offset: number): string {
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  return /^[ \t]*/.exec(text.slice(start, offset))?.[0] ?? '';
}

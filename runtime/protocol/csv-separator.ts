const separators = { ',': 'commas', ';': 'semicolons', '\t': 'tabs' } as const;

type Separator = keyof typeof separators;

/**
 * What separates the cells of a text in CSV: the first separator of its first line. Spreadsheets
 * write semicolons where a comma is in numbers, or tabs.
 * @param head the first line at least
 */
export function separatorOf(head: string): Separator {
  const [line = ''] = /[^\r\n]+/.exec(withoutQuoted(head)) ?? [];
  return (/[,;\t]/.exec(line)?.[0] ?? ',') as Separator;
}

export function hasFirstLine(head: string): boolean {
  return /[^\r\n][\r\n]/.test(withoutQuoted(head));
}

function withoutQuoted(head: string): string {
  return head.replaceAll(/"[^"]*(?:"|$)/g, '""');
}

/** The word for messages. */
export function separatorName(separator: Separator): string {
  return separators[separator];
}

/** Whether a cell is a number with a decimal comma. With commas between cells it may be thousands. */
export function hasDecimalComma(cell: string, separator: Separator): boolean {
  return separator !== ',' && /^\s*[+-]?\d+,\d+\s*$/.test(cell);
}

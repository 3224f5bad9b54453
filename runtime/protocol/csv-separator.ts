const separators = { ',': 'commas', ';': 'semicolons', '\t': 'tabs' } as const;

type Separator = keyof typeof separators;

/**
 * What separates the cells of a text in CSV: the first separator of its first line. Spreadsheets
 * write semicolons where a comma is in numbers, or tabs.
 * @param head the beginning of the text
 */
export function separatorOf(head: string): Separator {
  const [line = ''] = /[^\r\n]+/.exec(head.replaceAll(/"[^"]*(?:"|$)/g, '""')) ?? [];
  return (/[,;\t]/.exec(line)?.[0] ?? ',') as Separator;
}

/** The word for messages. */
export function separatorName(separator: Separator): string {
  return separators[separator];
}

/** Whether a cell is a number with a decimal comma. With commas between cells it may be thousands. */
export function hasDecimalComma(cell: string, separator: Separator): boolean {
  return separator !== ',' && /^\s*[+-]?\d+,\d+\s*$/.test(cell);
}

/** An SQL name in quotes. */
export function sqlName(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}

/** A constant of SQL. */
export function sqlConstant(value: string | number): string {
  return typeof value === 'number' ? String(value) : `'${value.replaceAll("'", "''")}'`;
}

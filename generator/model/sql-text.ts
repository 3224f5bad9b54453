/** An SQL name in quotes. */
export function sqlName(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}

/** A constant of SQL. */
export function sqlConstant(value: string | number): string {
  return typeof value === 'number' ? String(value) : `'${value.replaceAll("'", "''")}'`;
}

/** The form in which SQLite compares names. */
export function lowerAscii(text: string): string {
  return text.replace(/[A-Z]/g, (each) => each.toLowerCase());
}

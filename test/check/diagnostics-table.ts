import { messages } from '../../generator/check/report.js';
import { importMessages } from '../../generator/import/messages.js';
import { stubMessages } from '../../generator/stubs/messages.js';

const begin = '<!-- diagnostics -->';
const end = '<!-- /diagnostics -->';

/** The table of all problems, of models, of the users' classes and of imports, as generator/docs/diagnostics.md has it. */
export function diagnosticsTable(): string {
  const rows = Object.entries({ ...messages, ...stubMessages, ...importMessages })
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([code, { severity, meaning }]) => `| \`${code}\` | ${severity} | ${escaped(meaning)} |`);
  return ['| code | severity | meaning |', '|---|---|---|', ...rows].join('\n');
}

/** The document with the table between its markers, which are appended if they are missing. */
export function withTable(document: string, table: string): string {
  const [start, stop] = [document.indexOf(begin), document.indexOf(end)];
  const section = `${begin}\n${table}\n${end}`;
  if (start === -1 || stop === -1) return `${document.trimEnd()}\n\n## Diagnostics\n\n${section}\n`;
  return document.slice(0, start) + section + document.slice(stop + end.length);
}

function escaped(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
}

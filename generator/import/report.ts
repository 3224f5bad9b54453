import type { Change } from '../evolution/change.js';
import { importMessages, type ImportCode, type Note } from './messages.js';
import type { Draft } from './render.js';

/** What an import has made, and what it could not take over. */
interface ReportInput {
  readonly source: string;
  readonly draft: Draft;
  readonly notes: readonly Note[];
  /** Further chapters, as Markdown. */
  readonly remarks: readonly string[];
}

/** The text of the report: counts first, then each note below its code. */
export function reportText({ source, draft, notes, remarks }: ReportInput): string {
  const attributes = draft.dataclasses.reduce((sum, each) => sum + each.attributes.length, 0);
  const codes = codesOf(notes);
  const lines = [
    '# Import report',
    '',
    `Source: ${code(source)}. The model has ${counted(draft.dataclasses.length, 'dataclass', 'dataclasses')} with ${counted(attributes, 'attribute', 'attributes')}.`,
    '',
  ];
  if (codes.length === 0) lines.push('Everything was taken over.', '');
  else {
    lines.push('| code | severity | number | meaning |', '|---|---|---|---|');
    for (const [name, found] of codes) {
      const { severity, meaning } = importMessages[name as ImportCode];
      lines.push(`| \`${name}\` | ${severity} | ${String(found.length)} | ${meaning} |`);
    }
    lines.push('');
  }
  for (const [name, found] of codes) {
    lines.push(`## ${name}`, '');
    for (const { place, message } of found) {
      lines.push(place === '' ? `- ${escaped(message)}` : `- ${code(place)}: ${escaped(message)}`);
    }
    lines.push('');
  }
  for (const each of remarks) lines.push(each.trimEnd(), '');
  return `${lines.join('\n').trimEnd()}\n`;
}

/** A chapter about stored rows. */
export function changesText(changes: readonly Change[]): string {
  const lines = changes.map(({ severity, path, message, help }) => {
    const what = `- ${severity}: ${code(path)}: ${escaped(message)}`;
    return help === undefined ? what : `${what} (${escaped(help)})`;
  });
  return ['## What the changes mean for stored rows', '', ...lines].join('\n');
}

/** Notes by code: errors, then warnings, then infos; in each the most frequent first. */
export function codesOf(notes: readonly Note[]): readonly (readonly [string, readonly Note[]])[] {
  const groups = new Map<string, Note[]>();
  for (const note of notes) {
    const group = groups.get(note.code);
    if (group === undefined) groups.set(note.code, [note]);
    else group.push(note);
  }
  const rank = (found: readonly Note[]): number => severities.indexOf(found[0]?.severity ?? 'info');
  return [...groups].toSorted(
    ([a, ofA], [b, ofB]) => rank(ofA) - rank(ofB) || ofB.length - ofA.length || (a < b ? -1 : 1),
  );
}

const severities: readonly Note['severity'][] = ['error', 'warning', 'info'];

export function counted(count: number, one: string, many: string): string {
  return `${String(count)} ${count === 1 ? one : many}`;
}

/** A text of the source, which must not become Markdown. */
function escaped(text: string): string {
  return text.replaceAll(/[\\`*_[\]<>|#!]/g, (each) => `\\${each}`);
}

/** A text as code of Markdown, whatever backticks it holds. */
function code(text: string): string {
  const longest = Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return longest === 0 ? `${fence}${text}${fence}` : `${fence} ${text} ${fence}`;
}

import type { Diagnostic } from '../source/diagnostic.js';
import type { Place } from '../source/tree.js';
import { accessMessages } from './messages/access-messages.js';
import { attributeMessages } from './messages/attribute-messages.js';
import { fileMessages } from './messages/file-messages.js';
import { nameMessages } from './messages/name-messages.js';
import { relationMessages } from './messages/relation-messages.js';
import type { Message, MessageTable } from './messages/message.js';

/** Reports a problem: which one, the holes of its text, where, and a way out. */
export type Report = <C extends Code>(code: C, fill: Fill<C>, at: Place, help?: string) => void;

interface Reports {
  readonly report: Report;
  readonly problems: readonly Diagnostic[];
}

/** A collector of problems; the same problem at the same place is kept once. */
export function createReports(): Reports {
  const problems: Diagnostic[] = [];
  const seen = new Set<string>();
  const report: Report = (code, fill, at, help) => {
    const message = shownText(messageText(code, fill));
    const { file, start, end } = at;
    const path = shownText(at.path);
    const identity = JSON.stringify([code, message, file, start, path]);
    if (seen.has(identity)) return;
    seen.add(identity);
    const { severity } = messages[code];
    const found = { code, severity, message, origin: { file, start, end }, path };
    problems.push(help === undefined ? found : { ...found, help: shownText(help) });
  };
  return { report, problems };
}

const maxLength = 500;

/** Text of a model on one line of bounded length, without control characters for a terminal. */
function shownText(text: string): string {
  const line = text.replace(
    /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu,
    (each) => `\\u{${(each.codePointAt(0) ?? 0).toString(16)}}`,
  );
  return line.length <= maxLength ? line : `${line.slice(0, maxLength)}…`;
}

/** Every problem that a model can have, by its stable code. */
export const messages = {
  ...fileMessages,
  ...nameMessages,
  ...attributeMessages,
  ...relationMessages,
  ...accessMessages,
} satisfies MessageTable;

export type Code = keyof typeof messages;

/** The values for the holes of each text. */
type Fills = {
  readonly [C in Code]: Parameters<(typeof messages)[C]['text']> extends [infer F] ? F : object;
};

type Fill<C extends Code> = Fills[C];

const table: { readonly [C in Code]: Message<Fills[C]> } = messages;

/** The text of a problem, its holes filled. */
function messageText<C extends Code>(code: C, fill: Fill<C>): string {
  return table[code].text(fill);
}

import { messages, messageText } from './messages.js';
import type { Diagnostic } from '../source/diagnostic.js';
import type { Place } from '../source/tree.js';
import type { Code, Fill } from './messages.js';

/** Reports a problem: which one, the holes of its text, where, and a way out. */
export type Report = <C extends Code>(code: C, fill: Fill<C>, at: Place, help?: string) => void;

export interface Reports {
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

import type { CheckedModel } from '../check/check-model.js';
import { nearestPlace } from '../check/places.js';
import type { Change, Comparison } from '../evolution/change.js';
import { lineStarts, positionAt } from '../source/position.js';
import type { Colors } from './colors.js';
import { printable } from './terminal-text.js';

/** Finds the place of a path of the newer model; a model without a file has no places. */
export type Locate = (path: string) => Located | undefined;

interface Located {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

export function locator({ places, sources }: Pick<CheckedModel, 'places' | 'sources'>): Locate {
  const starts = new Map([...sources].map(([file, text]) => [file, lineStarts(text)]));
  return (path) => {
    const place = nearestPlace(places, path);
    const lines = starts.get(place?.file ?? '');
    if (place === undefined || lines === undefined) return undefined;
    return { file: place.file, ...positionAt(lines, place.start) };
  };
}

const titles = {
  data: 'Data',
  clients: 'Clients',
  classCode: 'Class code',
} as const satisfies Readonly<Record<keyof Comparison, string>>;

type List = keyof typeof titles;

const lists = Object.keys(titles) as readonly List[];

const startText = { applied: 'applied', rows: 'if rows comply', plan: 'refused' } as const;

//  Data
//    lost    refused         model.yaml:14:7  Company.size was a string and is an integer: …
//            write …
//  Clients
//    breaks  model.yaml:12:5  Company.fax was removed.
/** All differences; empty if there are none. */
export function renderComparison(comparison: Comparison, locate: Locate, colors: Colors): string {
  const blocks = lists.flatMap((list) => {
    const changes = comparison[list];
    if (changes.length === 0) return [];
    const lines = changes.map((each) => changeLines(list, each, locate, colors));
    return [[colors.bold(titles[list]), ...lines].join('\n')];
  });
  return blocks.join('\n\n');
}

function changeLines(list: List, change: Change, locate: Locate, colors: Colors): string {
  const { severity, message, path, help, start } = change;
  const at = locate(path);
  const place = at === undefined ? '' : `${at.file}:${String(at.line)}:${String(at.column)}  `;
  const what = list === 'data' ? (start === undefined ? '' : startText[start]).padEnd(16) : '';
  const head = `  ${paintOf(severity, colors)(severity.padEnd(6))}  ${what}${colors.dim(printable(place))}`;
  const lines = [`${head}${oneLine(message)}`];
  if (help !== undefined) lines.push(`          ${oneLine(help)}`);
  return lines.join('\n');
}

const mostLines = 10;

//  From the last model to this one:
//    lost    Data: Company.size was a string and is an integer: …
//    breaks  Clients: Company.fax was removed.
//    … and 12 more
/** The changes that are not `fine`, in a few lines; empty if there are none. */
export function renderShort(comparison: Comparison, more: string, colors: Colors): string {
  const order: readonly Change['severity'][] = ['lost', 'breaks', 'look'];
  const all = order.flatMap((severity) =>
    lists.flatMap((list) =>
      comparison[list]
        .filter((each) => each.severity === severity)
        // Advice must not be behind the last line.
        .toSorted((a, b) => Number(a.help === undefined) - Number(b.help === undefined))
        .map((each) => ({ list, ...each })),
    ),
  );
  if (all.length === 0) return '';
  const lines = all.slice(0, mostLines).flatMap(({ list, severity, message, help }) => {
    const head = `  ${paintOf(severity, colors)(severity.padEnd(6))}  ${titles[list]}: `;
    const line = `${head}${oneLine(message)}`;
    return help === undefined ? [line] : [line, `          ${oneLine(help)}`];
  });
  if (all.length > mostLines) lines.push(`  … and ${String(all.length - mostLines)} more`);
  const title = `From the last model to this one (${more} shows all):`;
  return [printable(title), ...lines].join('\n');
}

function paintOf(severity: Change['severity'], colors: Colors): (text: string) => string {
  switch (severity) {
    case 'lost':
    case 'breaks':
      return colors.red;
    case 'look':
      return colors.yellow;
    case 'fine':
      return colors.green;
  }
}

function oneLine(text: string): string {
  return printable(text).replaceAll('\n', ' ');
}

/** The three lists as `--json` prints them. */
export function comparisonJson(
  comparison: Comparison,
  locate: Locate,
): Readonly<Record<List, readonly object[]>> {
  const json = ({ help, start, ...each }: Change): object => ({
    ...each,
    ...(start === undefined ? {} : { start }),
    help: help ?? null,
    ...(locate(each.path) ?? { file: null, line: null, column: null }),
  });
  return {
    data: comparison.data.map(json),
    clients: comparison.clients.map(json),
    classCode: comparison.classCode.map(json),
  };
}

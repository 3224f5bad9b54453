import { attributesAt, type ExplorerDataclass, type ExplorerModel } from './model.js';

/** What can stand at the end of the path that somebody types. */
export interface Completion {
  /** The position in the text at which the proposals begin. */
  readonly from: number;
  /** Names of attributes; those of relations can be followed by a dot. */
  readonly names: readonly string[];
}

const mostNames = 8;

/** The path before the cursor. */
const path = /[\p{L}_][\p{L}\p{N}_.]*$/u;

/**
 * Proposes names of attributes for the path that ends at a position.
 * @param at the position of the cursor
 */
export function completionOf(
  model: ExplorerModel,
  dataclass: ExplorerDataclass,
  text: string,
  at: number,
): Completion {
  const before = text.slice(0, at);
  const none = { from: at, names: [] };
  const typed = path.exec(before)?.[0];
  if (typed === undefined || isQuoted(before)) return none;
  const segments = typed.split('.');
  const last = segments.pop() ?? '';
  const relation = attributesAt(model, dataclass, segments)?.at(-1);
  const owner = segments.length === 0 ? dataclass : model.dataclasses.get(relation?.target ?? '');
  const start = last.toLowerCase();
  const names = (owner?.attributes ?? [])
    .map(({ name }) => name)
    .filter((name) => name.toLowerCase().startsWith(start) && name !== last)
    .slice(0, mostNames);
  return { from: at - last.length, names };
}

/** Whether a text ends inside of a value in quotes. */
function isQuoted(text: string): boolean {
  const open = /["']/.exec(text);
  if (open === null) return false;
  const end = text.indexOf(open[0], open.index + 1);
  return end === -1 || isQuoted(text.slice(end + 1));
}

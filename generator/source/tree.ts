import type { Origin } from './diagnostic.js';

/** A place in a source file and in its content. Every node is one, and so is every key. */
export interface Place extends Origin {
  /** Keys that lead here, joined with dots; list items in brackets. */
  readonly path: string;
}

export type SourceNode = SourceMapping | SourceList | SourceScalar;

interface SourceMapping extends Place {
  readonly kind: 'mapping';
  /** Entries in the order of the file; of two entries with one key only the first is kept. */
  readonly entries: ReadonlyMap<string, SourceEntry>;
}

export interface SourceEntry {
  readonly key: SourceKey;
  readonly value: SourceNode;
}

export interface SourceKey extends Place {
  readonly name: string;
}

interface SourceList extends Place {
  readonly kind: 'list';
  readonly items: readonly SourceNode[];
}

export interface SourceScalar extends Place {
  readonly kind: 'scalar';
  readonly value: string | number | boolean | null;
}

/** The value of a key, or `undefined` if there is no such key or no mapping. */
export function child(node: SourceNode | undefined, key: string): SourceNode | undefined {
  return entry(node, key)?.value;
}

export function entry(node: SourceNode | undefined, key: string): SourceEntry | undefined {
  return node?.kind === 'mapping' ? node.entries.get(key) : undefined;
}

/** Entries of a mapping; none if the node is something else, which the shape checks report. */
export function entriesOf(node: SourceNode | undefined): readonly SourceEntry[] {
  return node?.kind === 'mapping' ? [...node.entries.values()] : [];
}

export function itemsOf(node: SourceNode | undefined): readonly SourceNode[] {
  return node?.kind === 'list' ? node.items : [];
}

/** The text of a scalar; `undefined` if it is absent or no text. */
export function textOf(node: SourceNode | undefined): string | undefined {
  return node?.kind === 'scalar' && typeof node.value === 'string' ? node.value : undefined;
}

export function numberOf(node: SourceNode | undefined): number | undefined {
  return node?.kind === 'scalar' && typeof node.value === 'number' ? node.value : undefined;
}

export function booleanOf(node: SourceNode | undefined): boolean | undefined {
  return node?.kind === 'scalar' && typeof node.value === 'boolean' ? node.value : undefined;
}

export function isNull(node: SourceNode | undefined): boolean {
  return node?.kind === 'scalar' && node.value === null;
}

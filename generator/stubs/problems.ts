import type { ts } from 'ts-morph';
import type { Diagnostic } from '../source/diagnostic.js';
import { type StubCode, stubMessages } from './messages.js';

/** The problems of the users' classes, in order of their files and places. */
export class StubProblems {
  readonly #problems = new Map<string, Diagnostic>();

  /** @param shown the form of an output path in messages */
  constructor(private readonly shown: (path: string) => string) {}

  /** Adds a problem; the same one at the same place is kept once. */
  add(
    code: StubCode,
    message: string,
    at: { readonly path: string; readonly start: number; readonly end: number },
    modelPath = '',
  ): void {
    const { severity } = stubMessages[code];
    const origin = { file: this.shown(at.path), start: at.start, end: at.end };
    const key = JSON.stringify([code, at.path, at.start, message]);
    this.#problems.set(key, { code, severity, message, origin, path: modelPath });
  }

  get all(): readonly Diagnostic[] {
    return [...this.#problems.values()].sort(
      ({ origin: a }, { origin: b }) =>
        Number(a.file > b.file) - Number(a.file < b.file) || a.start - b.start,
    );
  }
}

/** The name of a member or class if it has one, else its beginning. */
export function placeOf(
  path: string,
  node: ts.Node & { readonly name?: ts.Node | undefined },
): { readonly path: string; readonly start: number; readonly end: number } {
  const at = node.name ?? node;
  const start = at.getStart();
  return { path, start, end: node.name === undefined ? start + 1 : at.end };
}

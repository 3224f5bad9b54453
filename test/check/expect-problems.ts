import { expect } from 'vitest';
import { checkModel } from '../../generator/check/check-model.js';
import { lineStarts, positionAt } from '../../generator/source/position.js';
import type { Code } from '../../generator/check/report.js';
import type { Model } from '../../generator/model/model.js';

export interface Expected {
  readonly code: Code;
  /** The marker at which the problem begins; by default the start of the file. */
  readonly at?: string;
  /** Text that the message or its help must contain. */
  readonly says?: string;
}

export interface Given {
  /** With markers such as `<<here>>` before the error. */
  readonly yaml: string;
  /** Files next to the model, with markers too. */
  readonly beside?: Readonly<Record<string, string>>;
}

interface Marked {
  readonly text: string;
  readonly markers: ReadonlyMap<string, number>;
}

/** Codes that a test has expected and got, for a comparison with the table of messages. */
export const metCodes = new Set<string>();

/** Removes the markers from a text and returns their positions. */
export function marked(source: string): Marked {
  const markers = new Map<string, number>();
  let removed = 0;
  const text = source.replace(/<<([\w-]+)>>/g, (marker, name: string, offset: number) => {
    expect(markers.has(name), `marker ${name} stands twice`).toBe(false);
    markers.set(name, offset - removed);
    removed += marker.length;
    return '';
  });
  return { text, markers };
}

/**
 * Checks a model that must have exactly these problems, each at its place; returns the model if it
 * is correct.
 */
export function expectProblems(given: Given, expected: readonly Expected[]): Model | undefined {
  const model = marked(given.yaml);
  const files = Object.entries(given.beside ?? {}).map(([name, text]): [string, Marked] => [
    name,
    marked(text),
  ]);
  const beside = new Map(files);
  const result = checkModel({
    file: 'model.yaml',
    text: model.text,
    readBeside: (path) => beside.get(path)?.text,
  });
  const places = new Map<string, string>();
  for (const [file, { text, markers }] of [['model.yaml', model] as const, ...files]) {
    for (const [name, offset] of markers) places.set(name, place(file, text, offset));
  }
  const found = result.problems.map(({ code, origin }) => {
    const text = result.sources.get(origin.file) ?? '';
    expect(origin.start).toBeLessThanOrEqual(origin.end);
    expect(origin.end).toBeLessThanOrEqual(text.length);
    return `${place(origin.file, text, origin.start)} ${code}`;
  });
  const wanted = expected.map(({ code, at }) => {
    const where = at === undefined ? 'model.yaml:1:1' : (places.get(at) ?? `no marker ${at}`);
    return `${where} ${code}`;
  });
  expect(found.toSorted()).toEqual(wanted.toSorted());
  for (const { code, says } of expected) {
    metCodes.add(code);
    if (says === undefined) continue;
    const texts = result.problems
      .filter((each) => each.code === code)
      .map(({ message, help = '' }) => `${message} ${help}`);
    expect(texts.join('\n')).toContain(says);
  }
  return result.value;
}

function place(file: string, text: string, offset: number): string {
  const { line, column } = positionAt(lineStarts(text), offset);
  return `${file}:${line}:${column}`;
}

import type { Expected, Given } from '../expect-problems.js';

/** A model with problems, and all of its problems. */
export interface ProblemCase extends Given {
  readonly name: string;
  readonly expected: readonly Expected[];
}

/** A model file with the given dataclasses, which are indented by two spaces. */
export function model(dataclasses: string): string {
  return `drs: 1\nname: test\nroles: { restrictedByDefault: false }\ndataclasses:\n${dataclasses}`;
}

/**
 * A model of one dataclass `A` with a key `ID` and the given lines of attributes. Further lines of
 * the dataclass can follow.
 */
export function attributes(lines: readonly string[], rest: readonly string[] = []): string {
  const all = ['ID: { type: integer, key: true }', ...lines].map((line) => `      ${line}\n`);
  return model(
    `  A:\n    attributes:\n${all.join('')}${rest.map((line) => `    ${line}\n`).join('')}`,
  );
}

/** A valid model with more keys at its end. */
export function sound(rest: string): string {
  return `drs: 1\nname: test\ndataclasses:\n  A: { attributes: { ID: { type: integer, key: true }, x: string } }\n${rest}`;
}

import type { Expected, Given } from '../expect-problems.js';

/** A model that is wrong, and all that is wrong with it. */
export interface ProblemCase extends Given {
  readonly name: string;
  readonly expected: readonly Expected[];
}

/** A model file around dataclasses that are written with two spaces before their names. */
export function model(dataclasses: string): string {
  return `drs: 1\nname: test\nroles: {}\ndataclasses:\n${dataclasses}`;
}

/** A model of one dataclass `A` with a key `ID`, around lines of attributes; what follows in the dataclass can be given too. */
export function attributes(lines: readonly string[], rest: readonly string[] = []): string {
  const all = ['ID: { type: integer, key: true }', ...lines].map((line) => `      ${line}\n`);
  return model(
    `  A:\n    attributes:\n${all.join('')}${rest.map((line) => `    ${line}\n`).join('')}`,
  );
}

/** A sound model with more keys at its end. */
export function sound(rest: string): string {
  return `drs: 1\nname: test\ndataclasses:\n  A: { attributes: { ID: { type: integer, key: true }, x: string } }\n${rest}`;
}

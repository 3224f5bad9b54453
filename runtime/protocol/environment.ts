/** Variables of the environment that the server runs in. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A variable of the environment; an empty one counts as not set. */
export function setting(environment: Environment, variable: string, otherwise: string): string {
  const text = environment[variable];
  return text === undefined || text === '' ? otherwise : text;
}

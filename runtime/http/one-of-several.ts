/** The variable by which the parent process of a server informs the others; users do not set it. */
const variable = 'DRS_PROCESSES';

export function environmentOfOne(processes: number): Readonly<Record<string, string>> {
  return { [variable]: String(processes) };
}

/** The message of the parent process that stops the others. */
export const stopMessage = 'stop';

/** The message of a process that listens to its parent. */
export interface ListeningMessage {
  readonly url: string;
}

let processes = 1;

/**
 * Makes this process one of several, if {@link environmentOfOne} says so. The variable is removed: a
 * process that this one starts is not part of the server.
 * @returns whether it is one of several
 */
export function isOneOfSeveral(environment: Record<string, string | undefined>): boolean {
  const text = environment[variable];
  if (text === undefined) return false;
  Reflect.deleteProperty(environment, variable);
  processes = Number(text);
  return true;
}

/** How many processes of this machine serve together; 1 if this one serves alone. */
export function processesOfServer(): number {
  return processes;
}

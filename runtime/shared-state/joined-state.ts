/** What a process knows about the server to which it belongs. */
export interface JoinedState {
  readonly folder: string;
  /** The number of this process; no other process of the server has had it. */
  readonly process: number;
  /** How many there are. */
  readonly processes: number;
  /** See `timeBase`. */
  readonly timeBase: number;
}

/** The variable by which the first process of a server informs the others; users do not set it. */
const variable = 'DRS_JOINED_STATE';

/** The environment of a process that joins. */
export function joiningEnvironment(state: JoinedState): Readonly<Record<string, string>> {
  return { [variable]: JSON.stringify(state) };
}

/**
 * What {@link joiningEnvironment} passed. It is removed from the environment: a process that this
 * one starts is not part of the server.
 * @returns `undefined` for a process that a user started
 */
export function joinedBy(environment: Record<string, string | undefined>): JoinedState | undefined {
  const text = environment[variable];
  if (text === undefined) return undefined;
  Reflect.deleteProperty(environment, variable);
  return JSON.parse(text) as JoinedState;
}

let joined: JoinedState | undefined;
let apps = 0;

/** Makes every app of this process part of a server of several processes. */
export function joinState(state: JoinedState): void {
  joined = state;
}

/**
 * The state of one app: a process may have several, and each process creates them in the same
 * order.
 */
export interface AppState extends JoinedState {
  readonly app: number;
}

/** @returns `undefined` if the process serves alone */
export function nextAppState(): AppState | undefined {
  if (joined === undefined) return undefined;
  apps += 1;
  return { ...joined, app: apps };
}

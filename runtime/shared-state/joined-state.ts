/** What a process knows of the server that it is a part of. */
export interface JoinedState {
  readonly folder: string;
  /** Of this process; no other one of the server has had it. */
  readonly process: number;
  /** How many there are. */
  readonly processes: number;
  /** See `timeBase`. */
  readonly timeBase: number;
}

/** Where the first process of a server tells the others of it; nothing that a user sets. */
const variable = 'DRS_JOINED_STATE';

/** The environment of a process that joins. */
export function joiningEnvironment(state: JoinedState): Readonly<Record<string, string>> {
  return { [variable]: JSON.stringify(state) };
}

/**
 * What {@link joiningEnvironment} has told. It is told once: a process that this one starts is none of the server.
 * @returns `undefined` for a process that was started by a user
 */
export function joinedBy(environment: Record<string, string | undefined>): JoinedState | undefined {
  const text = environment[variable];
  if (text === undefined) return undefined;
  Reflect.deleteProperty(environment, variable);
  return JSON.parse(text) as JoinedState;
}

let joined: JoinedState | undefined;
let apps = 0;

/** Whatever app this process makes from now on is a part of a server of several processes. */
export function joinState(state: JoinedState): void {
  joined = state;
}

/** A place for the state of one app: a process may have several, and each process makes them in the same order. */
export interface AppState extends JoinedState {
  readonly app: number;
}

/** @returns `undefined` where one process serves alone */
export function nextAppState(): AppState | undefined {
  if (joined === undefined) return undefined;
  apps += 1;
  return { ...joined, app: apps };
}

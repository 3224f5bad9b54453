import type { Session } from '../../runtime/access/session.js';

/**
 * Code that tests run as class code: as a function of the datastore, with the privileges of its
 * caller.
 */
export type Act = (ds: ActingDatastore) => unknown;

/** The datastore of a server whose classes the test does not know. */
export interface ActingDatastore {
  readonly session: Session;
  transaction<T>(work: () => Promise<T>): Promise<T>;
  readonly [dataclass: string]: unknown;
}

const acts = new Map<string, Act>();
let count = 0;

// Class code is a separate module, so it looks for the work here.
(globalThis as Record<symbol, unknown>)[Symbol.for('drs test acts')] = acts;

/** Registers the work of the function `act`, which runs with each call. */
export function actNamed(act: Act): string {
  count += 1;
  const name = `act ${count}`;
  acts.set(name, act);
  return name;
}

/** The part of a model that this needs, in addition to the dataclasses. */
export const actFunctions = `
datastore:
  functions:
    act: { exposed: true, params: { name: string }, returns: any }
    send: { exposed: true, params: { name: string }, returns: message }
`;

/** The class with the function `act`. */
export const actClass = {
  'src/classes/DataStore.ts': `
import { DataStoreBase } from '../generated/api.js';
import { OutgoingMessage } from '../generated/api.js';
type Act = (ds: unknown) => never;
export class DataStore extends DataStoreBase {
  act(name: string): unknown { return act(name)(this); }
  send(name: string): OutgoingMessage { return new OutgoingMessage({ body: act(name)(this) }); }
}
function act(name: string): Act {
  const acts = Reflect.get(globalThis, Symbol.for('drs test acts')) as Map<string, Act>;
  const found = acts.get(name);
  if (found === undefined) throw new Error(name);
  return found;
}
`,
};

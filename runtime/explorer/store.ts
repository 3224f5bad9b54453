import { useEffect, useState } from 'preact/hooks';
import { RestError } from '../client/errors.js';
import type { ExplorerModel } from './model.js';
import { addressOf, type Place, placeOf } from './place.js';
import {
  type ExplorerDatastore,
  exportSize,
  type Selection,
  type SentRequest,
  Server,
  setIdOf,
} from './server.js';

/** All that the explorer knows; parts of the page keep only what belongs to themselves. */
export interface State {
  readonly place: Place;
  /** Absent until the catalog is read. */
  readonly opened?: Opened | undefined;
  /** Name of the user; `null` for a guest. */
  readonly user: string | null;
  readonly login: 'none' | 'possible' | 'required';
  /** What the grid shows, and whether it follows changes; absent until it is found. */
  readonly found?:
    { readonly set: Selection; readonly count: number; readonly isLive?: boolean } | undefined;
  readonly kept: readonly Kept[];
  /** The last requests, the newest first. */
  readonly requests: readonly SentRequest[];
  /** Rises when entities were made or deleted, so that the grid has to find its entities again. */
  readonly views: number;
  /** Rises when an entity was changed, so that the grid has to read its rows again. */
  readonly edits: number;
  /** The entity that a form has just saved, until it is left. */
  readonly saved?: object | undefined;
  /** What did not work, as a sentence. */
  readonly problem?: string | undefined;
}

/** An entity set that somebody keeps while they look at something else. */
export interface Kept {
  readonly id: string;
  readonly dataclass: string;
  /** What it is called: where its entities come from. */
  readonly name: string;
  readonly count: number;
  readonly set: Selection;
}

/** The model that the session sees, and its data. */
export interface Opened {
  readonly model: ExplorerModel;
  readonly datastore: ExplorerDatastore;
  /** Reads larger pages, for exports. */
  readonly bulk: ExplorerDatastore;
}

/** Requests of which the page tells. */
const mostRequests = 20;

/** What is known of the model before the catalog is read. */
const noModel: ExplorerModel = {
  name: '',
  dataclasses: new Map(),
  functions: [],
  singletons: new Map(),
};

/** The server says it in the page: without roles, nobody can log in. */
const hasLogins = document.getElementById('app')?.dataset['logins'] !== 'off';

/** The one store of the page. */
export class Store {
  #state: State = {
    place: placeOf(location.hash),
    user: null,
    login: 'none',
    kept: [],
    requests: [],
    views: 0,
    edits: 0,
  };
  /** Whether a form has what is not saved. */
  isTyped = false;
  readonly #listeners = new Set<() => void>();
  readonly #server = new Server();

  constructor() {
    addEventListener('beforeunload', (event) => {
      if (this.isTyped) event.preventDefault();
    });
    addEventListener('hashchange', () => {
      const place = placeOf(location.hash);
      if (!hasSamePanel(place, this.#state.place) && !this.#mayLeave()) {
        this.go(this.#state.place);
        return;
      }
      this.set({ place, problem: undefined });
      // What was refused may be left without a login, if the session sees the model.
      if (this.#state.login === 'required' && this.#state.opened !== undefined) {
        this.set({ login: 'possible' });
      }
    });
    this.#server.onAnswer((request) =>
      this.set({ requests: [request, ...this.#state.requests].slice(0, mostRequests) }),
    );
  }

  get state(): State {
    return this.#state;
  }

  set(changes: Partial<State>): void {
    this.#state = { ...this.#state, ...changes };
    for (const each of this.#listeners) each();
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Tells the grid that an entity was changed. */
  edited(): void {
    this.set({ edits: this.#state.edits + 1 });
  }

  /** Lets the grid find its entities again, since some were made or deleted. */
  refind(): void {
    this.set({ views: this.#state.views + 1 });
  }

  /** Keeps an entity set, which the session has until it is released. */
  keep(given: Omit<Kept, 'id'>): Kept {
    const kept = { ...given, id: setIdOf(given.set) ?? '' };
    this.set({ kept: [...this.#state.kept, kept] });
    return kept;
  }

  async release(kept: Kept): Promise<void> {
    this.set({ kept: this.#state.kept.filter(({ id }) => id !== kept.id) });
    await kept.set.release();
  }

  /** Asks before a form is left. */
  #mayLeave(): boolean {
    const mayLeave = !this.isTyped || confirm('Leave the form without saving what you have typed?');
    if (mayLeave) this.isTyped = false;
    return mayLeave;
  }

  /** Shows another place; the browser's back leads to this one. */
  go(place: Place): void {
    location.hash = addressOf(place);
  }

  /** Reads who asks, and the model as they see it: at the start, and after a login or a logout. */
  async open(): Promise<void> {
    const { session } = this.#server.datastore(noModel);
    const user = await session.userName();
    const login = hasLogins ? 'possible' : 'none';
    try {
      const model = await this.#server.model();
      const datastore = this.#server.datastore(model);
      const bulk = this.#server.datastore(model, exportSize);
      this.set({ user, login, opened: { model, datastore, bulk } });
    } catch (error) {
      if (!(error instanceof RestError) || error.status !== 401) throw error;
      this.set({ user: null, login: 'required' });
    }
  }

  /** @returns whether the name and the password are right */
  async login(name: string, password: string): Promise<boolean> {
    const { session } = this.#server.datastore(noModel);
    if (!(await session.login(name, password))) return false;
    // The server knows whether this session may open the explorer.
    const { ok } = await fetch(location.pathname, { method: 'HEAD', cache: 'no-store' });
    if (!ok) location.reload();
    // Sets belong to the session before.
    this.set({ problem: undefined, kept: [] });
    await this.open();
    return true;
  }

  async logout(): Promise<void> {
    if (!this.#mayLeave()) return;
    await this.#state.opened?.datastore.session.logout();
    // A guest may not open the explorer where a privilege is needed, and nothing that was read stays.
    location.reload();
  }

  /** Runs what somebody has asked for, and shows why it did not succeed. */
  async act(work: () => Promise<void>): Promise<void> {
    this.set({ problem: undefined });
    await this.attempt(work);
  }

  /** Runs work, and shows why it did not succeed. */
  async attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (isAborted(error)) return;
      this.set({ problem: problemOf(error) });
      // A user whose session is over is a guest.
      if (error instanceof RestError && error.status === 401) {
        this.set({ login: 'required', user: null });
      }
    }
  }
}

function hasSamePanel(one: Place, other: Place): boolean {
  const isSame = one.dataclass === other.dataclass && one.entity === other.entity;
  return isSame && (one.isNew ?? false) === (other.isNew ?? false);
}

/** What went wrong, as people can read it. */
export function problemOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function isAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}

export const store = new Store();

/** The state of the store; the component is drawn again when it changes. */
export function useStore(): State {
  const [state, setState] = useState(store.state);
  useEffect(() => store.subscribe(() => setState(store.state)), []);
  return state;
}

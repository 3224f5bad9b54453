import type { Session } from '../../access/session.js';
import type { SingletonClass } from '../objects/registry.js';
import type { SingletonState } from '../objects/dataclass.js';
import type { SingletonFields, SingletonTurn } from '../../state/database-singletons.js';
import { jsonOf } from '../../protocol/plain-json.js';
import { getOrInsertComputed } from '../../protocol/get-or-insert.js';
import { Turns } from '../objects/turns.js';

/** Reports sessions that end, each by its ID. */
type OnSessionEnd = (listener: (session: string) => void) => void;
/** Reports guests who become users, each by the IDs of the ended session and of its successor. */
type OnSessionMove = (listener: (from: string, to: string) => void) => void;

/** How singletons are made, and how long they live. */
interface SingletonSurroundings {
  /** Runs a constructor with every privilege, for no session. */
  asServer(make: () => object): object;
  /** Runs a constructor with every privilege, for the calling session. */
  inSession(make: () => object): object;
  /** Undefined if this process is the only server: then it keeps the instances of sessions. */
  readonly fields: SingletonFields | undefined;
  readonly onSessionEnd: OnSessionEnd;
  readonly onSessionMove: OnSessionMove;
}

/** The singletons of a process, or of a session. */
class Instances {
  readonly made = new Map<string, object>();
  /** The calls of singletons whose calls run one after the other. */
  readonly turns = new Turns();
}

/** The instances of singletons: made at their first call, and kept as long as their scope says. */
export class Singletons {
  readonly #ofProcess = new Instances();
  readonly #ofSessions = new Map<string, Instances>();

  constructor(
    private readonly classes: Readonly<Record<string, SingletonClass>>,
    private readonly state: SingletonState,
    private readonly surroundings: SingletonSurroundings,
  ) {
    if (surroundings.fields !== undefined) return;
    surroundings.onSessionEnd((session) => this.#ofSessions.delete(session));
    surroundings.onSessionMove((from, to) => {
      const moved = this.#ofSessions.get(from);
      if (moved === undefined) return;
      this.#ofSessions.delete(from);
      this.#ofSessions.set(to, moved);
    });
  }

  /**
   * Runs `work` with an instance. Calls of a `process` singleton run one after the other, and those
   * of one session of a `session` singleton, whichever server they reach; those of others run
   * concurrently.
   * @throws Error for a name that no singleton has, and what the instance's constructor throws: the
   * next call tries again
   */
  async run<T>(
    name: string,
    session: Session,
    work: (instance: object) => T | Promise<T>,
  ): Promise<T> {
    const found = Object.hasOwn(this.classes, name) ? this.classes[name] : undefined;
    if (found === undefined) throw new Error(`There is no singleton ${name}.`);
    if (found.scope === 'session') return this.#ofSession(name, session.keep(), found, work);
    const instances = this.#ofProcess;
    if (found.scope === 'shared') return work(this.#instance(instances, name, found));
    return instances.turns.run(name, () => work(this.#instance(instances, name, found)));
  }

  async #ofSession<T>(
    name: string,
    session: string,
    found: SingletonClass,
    work: (instance: object) => T | Promise<T>,
  ): Promise<T> {
    const { fields } = this.surroundings;
    const own = getOrInsertComputed(this.#ofSessions, session, () => new Instances());
    if (fields === undefined) {
      return own.turns.run(name, () => work(this.#instance(own, name, found)));
    }
    try {
      return await own.turns.run(name, async () =>
        runWithFields(name, await fields.begin(session, name), () => this.#make(found), work),
      );
    } finally {
      // Another server may end the session, and nobody tells this one.
      if (own.turns.isIdle) this.#ofSessions.delete(session);
    }
  }

  /** Constructors are synchronous, so two first calls cannot both make one. */
  #instance({ made }: Instances, name: string, found: SingletonClass): object {
    return getOrInsertComputed(made, name, () => this.#make(found));
  }

  #make({ singleton, scope }: SingletonClass): object {
    const make = (): object => new singleton(...([this.state] as never));
    const { surroundings } = this;
    return scope === 'session' ? surroundings.inSession(make) : surroundings.asServer(make);
  }
}

/** An instance of one call: what the code changes is stored, also if the code fails. */
async function runWithFields<T>(
  name: string,
  turn: SingletonTurn,
  make: () => object,
  work: (instance: object) => T | Promise<T>,
): Promise<T> {
  let text: string | undefined;
  try {
    const instance = make();
    if (turn.text !== undefined) setFields(instance, turn.text);
    try {
      return await work(instance);
    } finally {
      text = textOf(name, instance);
    }
  } finally {
    await turn.end(text);
  }
}

/** Methods may be fields, too; the constructor makes them anew. */
function isField(instance: object, name: string): boolean {
  return typeof Reflect.get(instance, name) !== 'function';
}

function setFields(instance: object, text: string): void {
  const stored = JSON.parse(text) as Readonly<Record<string, unknown>>;
  for (const name of Object.keys(instance)) {
    if (isField(instance, name)) Reflect.deleteProperty(instance, name);
  }
  for (const [name, value] of Object.entries(stored)) {
    const field = { value, writable: true, enumerable: true, configurable: true };
    Object.defineProperty(instance, name, field);
  }
}

/** @throws TypeError for a field that JSON cannot hold */
function textOf(singleton: string, instance: object): string {
  const fields = Object.entries(instance).filter(([name]) => isField(instance, name));
  const texts = fields.map(([name, value]) => {
    const shown = `The field ${JSON.stringify(name)} of the singleton ${singleton}`;
    // A field without a value is left out, as JSON does.
    return value === undefined ? [] : [`${JSON.stringify(name)}:${jsonOf(value, shown)}`];
  });
  return `{${texts.flat().join(',')}}`;
}

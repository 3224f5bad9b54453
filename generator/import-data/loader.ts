import { type ChildProcess, fork } from 'node:child_process';

// The messages between this program and that of the server, `runtime/seed/load-data.ts`.

/** A row for the server: values by attribute, in the form of a JSON body; images and BLOBs as bytes. */
export interface LoadedRow {
  readonly values: Readonly<Record<string, unknown>>;
  /** What could not be turned into a value, by attribute: the row is refused. */
  readonly faults?: Readonly<Record<string, string>>;
  /** Phase `again`: the row is stored, and gets these values, which it lacks. */
  readonly isStored?: true;
}

/** A foreign key that is found by the value of an attribute of the related entity. */
export interface LoadReference {
  readonly attribute: string;
  readonly by: string;
}

export type Phase = 'rows' | 'links' | 'references' | 'again';

export type LoadRequest =
  | { readonly kind: 'begin'; readonly restart: boolean }
  | {
      readonly kind: 'batch';
      readonly phase: Phase;
      readonly dataclass: string;
      /** How many rows of this phase were taken before. */
      readonly from: number;
      readonly rows: readonly LoadedRow[];
      readonly held: readonly string[];
      readonly references: readonly LoadReference[];
    }
  | { readonly kind: 'commit' }
  | { readonly kind: 'finish' }
  | {
      readonly kind: 'compare';
      readonly dataclass: string;
      readonly rows: readonly LoadedRow[];
      readonly references: readonly LoadReference[];
    }
  | { readonly kind: 'count'; readonly dataclass: string }
  | { readonly kind: 'end' };

export interface LoadRefusal {
  readonly index: number;
  /** Whether the row is stored, with null for the values that are named. */
  readonly isStored: boolean;
  readonly reasons: readonly {
    readonly attribute: string;
    readonly message: string;
    /** The rule of the model that the value breaks. */
    readonly rule?: string;
  }[];
}

export interface LoadDifference {
  readonly index: number;
  /** Absent: the row is missing. */
  readonly attribute?: string;
  readonly expected?: unknown;
  readonly found?: unknown;
}

interface Answers {
  readonly ready: Ready;
  readonly begun: object;
  readonly checked: { readonly refusals: readonly LoadRefusal[] };
  readonly stored: object;
  readonly finished: object;
  readonly compared: { readonly differences: readonly LoadDifference[] };
  readonly counted: { readonly count: number };
}

export interface Ready {
  readonly uniqueId: string;
  /** Whether an import has begun in the database. */
  readonly hasBegun: boolean;
  /** Rows that were taken, by phase and dataclass: `rows Company`. */
  readonly done: Readonly<Record<string, number>>;
  readonly dataclasses: readonly TargetDataclass[];
}

/** A dataclass of the built server. */
export interface TargetDataclass {
  readonly name: string;
  readonly renamedFrom: readonly string[];
  readonly table: string;
  readonly key: string;
  readonly attributes: readonly TargetAttribute[];
  readonly relations: readonly TargetRelation[];
}

export interface TargetAttribute {
  readonly name: string;
  readonly renamedFrom: readonly string[];
  readonly column: string;
  readonly type: string;
  readonly isDateOnly: boolean;
  readonly isUnique: boolean;
  /** Null is refused, and the server fills nothing in. */
  readonly isNeeded: boolean;
}

interface TargetRelation {
  readonly name: string;
  readonly renamedFrom: readonly string[];
  readonly target: string;
  readonly foreignKey: string;
  readonly isMandatory: boolean;
}

/** The server does not go on; the message is for people. */
export class LoadStopped extends Error {}

/** The server has refused a request, and done nothing of it. */
export class LoadRefused extends LoadStopped {}

/** The format of the messages that this version knows. */
const format = 1;

/** The program of a server that stores rows in its database. It ends with this process. */
export class LoaderProcess {
  readonly #waiting: ((answer: unknown) => void)[] = [];
  #isOver = false;

  private constructor(private readonly child: ChildProcess) {
    child.on('message', (answer) => this.#waiting.shift()?.(answer));
    const end = (): void => {
      this.#isOver = true;
      for (const each of this.#waiting.splice(0)) each(undefined);
    };
    child.on('exit', end);
    child.on('error', end);
  }

  /** @param tell gets what the server writes for people */
  static async start(
    program: string,
    options: {
      readonly cwd: string;
      readonly env: Readonly<Record<string, string | undefined>>;
      readonly tell: (text: string) => void;
    },
  ): Promise<{ readonly loader: LoaderProcess; readonly ready: Ready }> {
    const child = fork(program, [], {
      cwd: options.cwd,
      env: options.env,
      execArgv: [],
      serialization: 'advanced',
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', options.tell);
    }
    const loader = new LoaderProcess(child);
    const ready = await loader.#next('ready');
    if ((ready as { readonly format?: unknown }).format !== format) {
      await loader.end();
      throw new LoadStopped(
        'the server is of another version of drs-gen: generate and build it again',
      );
    }
    return { loader, ready };
  }

  /** @throws LoadStopped for what the server refuses, and when it has ended */
  ask<Kind extends keyof Answers>(request: LoadRequest, kind: Kind): Promise<Answers[Kind]> {
    const answer = this.#next(kind);
    if (!this.#isOver) this.child.send(request);
    return answer;
  }

  async #next<Kind extends keyof Answers>(kind: Kind): Promise<Answers[Kind]> {
    const answer = await new Promise<unknown>((resolve) => {
      if (this.#isOver) resolve(undefined);
      else this.#waiting.push(resolve);
    });
    if (isOf(answer, kind)) return answer as Answers[Kind];
    if (isOf(answer, 'refused') && 'reason' in answer) throw new LoadRefused(String(answer.reason));
    throw new LoadStopped('the program of the server has ended');
  }

  async end(): Promise<void> {
    if (this.#isOver) return;
    const ended = new Promise((resolve) => this.child.once('exit', resolve));
    if (this.child.connected)
      this.child.send({ kind: 'end' } satisfies LoadRequest, () => undefined);
    await ended;
  }
}

function isOf(answer: unknown, kind: string): answer is object {
  return typeof answer === 'object' && answer !== null && 'kind' in answer && answer.kind === kind;
}

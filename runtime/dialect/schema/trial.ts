/** Reports how long each step of a migration takes and which locks block writers meanwhile: `migrate.js --try`. */
export class Trial {
  readonly #start = performance.now();
  #stepStart = 0;
  /** The locks since the step began: how often, and for how long at most. */
  #locks = new Map<string, Locked>();
  #longest: { readonly step: string; readonly lock: string; readonly milliseconds: number } = {
    step: '',
    lock: '',
    milliseconds: 0,
  };

  constructor(private readonly tell: (line: string) => void) {}

  /** Starts the report of a step. */
  begin(): void {
    this.#stepStart = performance.now();
    this.#locks = new Map();
  }

  /** Records the locks of a transaction of the step. */
  locked(what: string, milliseconds: number): void {
    const { times = 0, longest = 0 } = this.#locks.get(what) ?? {};
    this.#locks.set(what, { times: times + 1, longest: Math.max(longest, milliseconds) });
  }

  /** Records a part of a step. */
  part(what: string, rows: number | undefined, milliseconds: number): void {
    this.tell(`  - ${what}: ${measured(rows, milliseconds)}`);
  }

  /** @param rows that the step has processed, if that is known */
  done(step: string, rows?: number): void {
    const milliseconds = performance.now() - this.#stepStart;
    const locks = [...this.#locks];
    for (const [lock, { longest }] of locks) {
      if (longest > this.#longest.milliseconds) {
        this.#longest = { step, lock, milliseconds: longest };
      }
    }
    const held = locks.map(lockWords).join(', ');
    this.tell(
      `${step}: ${measured(rows, milliseconds)}; ${held === '' ? 'no table is locked' : `writers wait for ${held}`}`,
    );
  }

  end(): void {
    const { step, lock, milliseconds } = this.#longest;
    const all = `In all: ${seconds(performance.now() - this.#start)}`;
    this.tell(
      lock === ''
        ? `${all}; no table is locked.`
        : `${all}; writers wait longest for ${lock}: ${seconds(milliseconds)} (${step}).`,
    );
  }
}

interface Locked {
  readonly times: number;
  readonly longest: number;
}

function lockWords([what, { times, longest }]: readonly [string, Locked]): string {
  return times === 1
    ? `${what} (${seconds(longest)})`
    : `${what} (${times} times, ${seconds(longest)} at most)`;
}

function measured(rows: number | undefined, milliseconds: number): string {
  const time = seconds(milliseconds);
  return rows === undefined ? time : `${rows} ${rows === 1 ? 'row' : 'rows'}, ${time}`;
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(milliseconds < 10_000 ? 3 : 1)} s`;
}

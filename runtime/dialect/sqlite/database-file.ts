import { statSync } from 'node:fs';
import { DatabaseUnavailableError } from '../executor.js';
import type { Database } from 'better-sqlite3';

/** SQLite commits to the write-ahead log next to the database file first. */
const suffixes = ['', '-wal'];

/** Two system calls cost a fifth of a small change. Writes within the interval are lost with the old file anyway. */
const intervalMilliseconds = 100;

/** The open files of a server. SQLite would continue with deleted or moved ones, whose data are lost at the next start. */
export class DatabaseFile {
  readonly #identities: readonly string[];
  #checked = -Infinity;

  /** @param path of an open database in WAL mode that was read at least once */
  constructor(private readonly path: string) {
    this.#identities = this.#present();
  }

  /** @throws DatabaseUnavailableError while a file is missing or replaced */
  check(): void {
    const now = performance.now();
    if (now - this.#checked < intervalMilliseconds) return;
    const present = this.#present();
    if (this.#identities.some((each, index) => each !== present[index])) {
      throw new DatabaseUnavailableError(
        'the file of the database was moved, deleted or replaced',
        undefined,
      );
    }
    this.#checked = now;
  }

  #present(): readonly string[] {
    return suffixes.map((suffix) => identityOf(this.path + suffix));
  }
}

function identityOf(path: string): string {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return `${dev} ${ino}`;
  } catch {
    return 'none that can be seen';
  }
}

/** The write-ahead log. SQLite restarts it only when nobody reads from it. */
export class WriteAheadLog {
  readonly #path: string;

  /** @param writer must not wait for others (`busy_timeout`) */
  constructor(
    private readonly writer: Database,
    file: string,
  ) {
    this.#path = `${file}-wal`;
  }

  get bytes(): number {
    try {
      return statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0;
    } catch {
      // The file cannot be examined: the next read or write reports it.
      return 0;
    }
  }

  /** Restarts the log; returns whether it did, which it cannot while somebody reads or writes. */
  empty(): boolean {
    if (this.writer.inTransaction) return false;
    try {
      const [result] = this.writer.pragma('wal_checkpoint(truncate)') as readonly {
        readonly busy: number;
      }[];
      return result?.busy === 0;
    } catch {
      // The disk is full or fails: the next write reports it.
      return false;
    }
  }
}

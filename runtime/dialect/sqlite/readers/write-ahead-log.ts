import { statSync } from 'node:fs';
import type { Database } from 'better-sqlite3';

/** Where SQLite keeps what was committed last. It begins anew only when nobody reads from it. */
export class WriteAheadLog {
  readonly #path: string;

  /**
   * @param writer the connection that writes; it must not wait for others (`busy_timeout`)
   * @param file path of the database
   */
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
      // It cannot be looked at: whoever reads or writes is told.
      return 0;
    }
  }

  /**
   * Has it begin anew.
   * @returns whether it does; not while somebody reads or writes
   */
  empty(): boolean {
    if (this.writer.inTransaction) return false;
    try {
      const [result] = this.writer.pragma('wal_checkpoint(truncate)') as readonly {
        readonly busy: number;
      }[];
      return result?.busy === 0;
    } catch {
      // The disk is full, or fails: whoever writes next is told.
      return false;
    }
  }
}

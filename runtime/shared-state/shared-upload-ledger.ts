import { unlink } from 'node:fs/promises';
import type { ImageType } from '../media/image-types.js';
import type { KeptUpload, UploadLedger } from '../media/upload-ledger.js';
import { everySecond, type Sharing } from './sharing.js';
import type { StateStatement } from './state-database.js';

type Row = readonly [
  owner: string,
  path: string,
  type: ImageType | null,
  space: number,
  expires: number,
];

/** Uploads that all processes of a server know. Their files are in a folder that is the server's. */
export class SharedUploadLedger implements UploadLedger {
  readonly #total: StateStatement;
  readonly #receive: StateStatement;
  readonly #add: StateStatement;
  readonly #find: StateStatement;
  readonly #remove: StateStatement;
  readonly #idsOf: StateStatement;
  readonly #move: StateStatement;
  readonly #soonest: StateStatement;
  readonly #expired: StateStatement;
  readonly #cancelTick: () => void;
  #isClosed = false;

  /** @param process number of this one */
  constructor(
    private readonly sharing: Sharing,
    private readonly process: number,
  ) {
    const { state } = sharing;
    this.#total = state.prepare(
      `select sum("value") from "total" where "name" in ('uploads', 'receiving')`,
    );
    this.#receive = state.prepare(
      `insert into "receiving" values (?1, ?2)
       on conflict ("process") do update set "space" = "space" + ?2`,
    );
    this.#add = state.prepare('insert into "upload" values (?, ?, ?, ?, ?, ?)');
    this.#find = state.prepare(
      'select "owner", "path", "type", "space", "expires" from "upload" where "id" = ?',
    );
    this.#remove = state.prepare('delete from "upload" where "id" = ?');
    this.#idsOf = state.prepare('select "id" from "upload" where "owner" = ?');
    this.#move = state.prepare('update "upload" set "owner" = ? where "owner" = ?');
    this.#soonest = state.prepare('select min("expires") from "upload"');
    this.#expired = state.prepare('select "id" from "upload" where "expires" <= ?');
    this.#cancelTick = everySecond(sharing, () => {
      this.#endExpired();
    });
  }

  get space(): number {
    return Number(this.#total.first());
  }

  reserve(bytes: number, most: number): boolean {
    return this.sharing.state.change(() => {
      if (this.space + bytes > most) return false;
      this.#receive.run(this.process, bytes);
      return true;
    });
  }

  free(bytes: number): void {
    this.sharing.state.change(() => this.#receive.run(this.process, -bytes));
  }

  keep(id: string, { owner, path, type, space, expires }: KeptUpload): void {
    this.sharing.state.change(() => {
      this.#add.run(id, owner, path, type ?? null, space, expires);
      this.free(space);
    });
  }

  find(id: string): KeptUpload | undefined {
    const row = this.#find.first(id);
    if (row === undefined) return undefined;
    const [owner, path, type, space, expires] = row as Row;
    return { owner, path, type: type ?? undefined, space, expires };
  }

  forget(id: string): KeptUpload | undefined {
    return this.sharing.state.change(() => {
      const kept = this.find(id);
      // Until the file is gone, its space is taken by this process.
      if (kept !== undefined && this.#remove.run(id) > 0) {
        this.#receive.run(this.process, kept.space);
      }
      return kept;
    });
  }

  removed({ space }: KeptUpload): void {
    // Of a process that has ended nothing takes space.
    if (!this.#isClosed) this.free(space);
  }

  idsOf(owner: string): readonly string[] {
    return this.#idsOf.all(owner) as readonly string[];
  }

  move(from: string, to: string): void {
    this.sharing.state.change(() => this.#move.run(to, from));
  }

  soonestExpiry(): number | undefined {
    return (this.#soonest.first() as number | null) ?? undefined;
  }

  /** Uploads go on in the other processes. */
  close(): void {
    this.#isClosed = true;
    this.#cancelTick();
  }

  /** Those of a process that is not there any more, among others. */
  #endExpired(): void {
    const ids = this.#expired.all(this.sharing.clock.now()) as readonly string[];
    for (const id of ids) {
      const kept = this.forget(id);
      if (kept === undefined) continue;
      void unlink(kept.path)
        .catch(() => undefined)
        .then(() => {
          this.removed(kept);
        });
    }
  }
}

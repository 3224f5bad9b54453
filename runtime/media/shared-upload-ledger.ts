import { unlink } from 'node:fs/promises';
import type { ImageType } from '../protocol/image-types.js';
import {
  accountsOf,
  type KeptUpload,
  type UploadLedger,
  type UploadShare,
} from './upload-ledger.js';
import { everySecond, type Sharing } from '../shared-state/sharing.js';
import type { StateStatement } from '../shared-state/state-database.js';

type Row = readonly [
  owner: string,
  path: string,
  type: ImageType | null,
  space: number,
  expires: number,
  sender: string | null,
];

/** Replaces the number of a process for complete uploads, which belong to no process. */
const kept = -1;

/** Uploads that all processes of a server know. Their files are in a folder of the server. */
export class SharedUploadLedger implements UploadLedger {
  readonly #total: StateStatement;
  readonly #receive: StateStatement;
  readonly #empty: StateStatement;
  readonly #add: StateStatement;
  readonly #find: StateStatement;
  readonly #remove: StateStatement;
  readonly #idsOf: StateStatement;
  readonly #move: StateStatement;
  readonly #expiry: StateStatement;
  readonly #write: StateStatement;
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
      'select coalesce(sum("space"), 0) from "receiving" where "account" = ?',
    );
    this.#receive = state.prepare(
      `insert into "receiving" values (?1, ?2, ?3)
       on conflict ("account", "process") do update set "space" = "space" + ?3`,
    );
    this.#empty = state.prepare(
      'delete from "receiving" where "account" = ? and "process" = ? and "space" <= 0',
    );
    this.#add = state.prepare('insert into "upload" values (?, ?, ?, ?, ?, ?, ?, 0)');
    this.#find = state.prepare(
      'select "owner", "path", "type", "space", "expires", "sender" from "upload" where "id" = ?',
    );
    this.#remove = state.prepare('delete from "upload" where "id" = ?');
    this.#idsOf = state.prepare('select "id" from "upload" where "owner" = ?');
    this.#move = state.prepare('update "upload" set "owner" = ? where "owner" = ?');
    this.#expiry = state.prepare(
      `select "expires" from (
         select "expires", sum("space") over (order by "expires", "id") as "freed" from "upload"
         where ?1 = 'all' or "sender" = ?1 or (?1 = 'guests' and "sender" glob 'guest *'))
       where "freed" >= ?2 limit 1`,
    );
    this.#write = state.prepare(
      'update "upload" set "written" = "written" + ?2 where "id" = ?1 and "written" + ?2 <= ?3',
    );
    this.#expired = state.prepare('select "id" from "upload" where "expires" <= ?');
    this.#cancelTick = everySecond(sharing, () => {
      this.#endExpired();
    });
  }

  spaceOf(account: string): number {
    return Number(this.#total.first(account));
  }

  reserve(bytes: number, shares: readonly UploadShare[]): UploadShare | undefined {
    return this.sharing.state.change(() => {
      const full = shares.find(({ account, most }) => this.spaceOf(account) + bytes > most);
      if (full !== undefined) return full;
      for (const { account } of shares) this.#receive.run(account, this.process, bytes);
      return undefined;
    });
  }

  free(bytes: number, accounts: readonly string[]): void {
    this.sharing.state.change(() => {
      for (const account of accounts) this.#take(account, this.process, bytes);
    });
  }

  keep(id: string, { owner, path, type, space, expires, sender }: KeptUpload): void {
    this.sharing.state.change(() => {
      this.#add.run(id, owner, path, type ?? null, space, expires, sender ?? null);
      for (const account of accountsOf(sender)) {
        this.#take(account, this.process, space);
        this.#receive.run(account, kept, space);
      }
    });
  }

  find(id: string): KeptUpload | undefined {
    const row = this.#find.first(id);
    if (row === undefined) return undefined;
    const [owner, path, type, space, expires, sender] = row as Row;
    return { owner, path, type: type ?? undefined, space, expires, sender: sender ?? undefined };
  }

  forget(id: string): KeptUpload | undefined {
    return this.sharing.state.change(() => {
      const upload = this.find(id);
      if (upload === undefined) return undefined;
      this.#remove.run(id);
      // This process uses the space until the file is removed.
      for (const account of accountsOf(upload.sender)) {
        this.#take(account, kept, upload.space);
        this.#receive.run(account, this.process, upload.space);
      }
      return upload;
    });
  }

  removed({ space, sender }: KeptUpload): void {
    // What belongs to an ended process takes no space.
    if (!this.#isClosed) this.free(space, accountsOf(sender));
  }

  idsOf(owner: string): readonly string[] {
    return this.#idsOf.all(owner) as readonly string[];
  }

  move(from: string, to: string): void {
    this.sharing.state.change(() => this.#move.run(to, from));
  }

  expiryOf(bytes: number, account: string): number | undefined {
    return this.#expiry.first(account, bytes) as number | undefined;
  }

  write(id: string, bytes: number, most: number): boolean {
    return this.sharing.state.change(() => this.#write.run(id, bytes, most)) > 0;
  }

  /** The uploads continue in the other processes. */
  close(): void {
    this.#isClosed = true;
    this.#cancelTick();
  }

  /** Call it inside a change. */
  #take(account: string, process: number, bytes: number): void {
    this.#receive.run(account, process, -bytes);
    this.#empty.run(account, process);
  }

  /** Including those of a process that has ended. */
  #endExpired(): void {
    const ids = this.#expired.all(this.sharing.clock.now()) as readonly string[];
    for (const id of ids) {
      const upload = this.forget(id);
      if (upload === undefined) continue;
      void unlink(upload.path)
        .catch(() => undefined)
        .then(() => {
          this.removed(upload);
        });
    }
  }
}

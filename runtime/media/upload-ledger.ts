import type { ImageType } from '../protocol/image-types.js';

/** An upload whose file is complete. */
export interface KeptUpload {
  /** ID of the session that sent it. */
  readonly owner: string;
  readonly path: string;
  /** `undefined` if it is no image. */
  readonly type: ImageType | undefined;
  /** Bytes on disk, whole blocks. */
  readonly space: number;
  /** For whom its space counts, see {@link accountsOf}. */
  readonly sender: string | undefined;
  /** Milliseconds of the store's clock. */
  readonly expires: number;
}

/** The limit of the uploads of an account together, in bytes. */
export interface UploadShare {
  readonly account: string;
  readonly most: number;
}

/** The accounts for which an upload counts. */
export function accountsOf(sender: string | undefined): readonly string[] {
  if (sender === undefined) return ['all'];
  return sender.startsWith('guest ') ? ['all', 'guests', sender] : ['all', sender];
}

/** Who sent which upload, and how much they use together, if one process serves. */
export class UploadLedger {
  readonly #kept = new Map<string, KeptUpload>();
  readonly #ofSession = new Map<string, Set<string>>();
  /** By their IDs. */
  readonly #written = new Map<string, number>();
  /** By accounts. */
  readonly #spaces = new Map<string, number>();

  /** Bytes on disk of the uploads of an account, including incomplete ones. */
  spaceOf(account: string): number {
    return this.#spaces.get(account) ?? 0;
  }

  /**
   * Reserves space for an incoming upload, in all shares or in none.
   * @returns the share that is too small
   */
  reserve(bytes: number, shares: readonly UploadShare[]): UploadShare | undefined {
    const full = shares.find(({ account, most }) => this.spaceOf(account) + bytes > most);
    if (full !== undefined) return full;
    for (const { account } of shares) this.#spaces.set(account, this.spaceOf(account) + bytes);
    return undefined;
  }

  /** Frees reserved space of an upload that failed. */
  free(bytes: number, accounts: readonly string[]): void {
    for (const account of accounts) {
      const rest = this.spaceOf(account) - bytes;
      if (rest > 0) this.#spaces.set(account, rest);
      else this.#spaces.delete(account);
    }
  }

  /** Turns the reserved space into that of the complete upload. */
  keep(id: string, upload: KeptUpload): void {
    this.#kept.set(id, upload);
    const siblings = this.#ofSession.get(upload.owner);
    if (siblings === undefined) this.#ofSession.set(upload.owner, new Set([id]));
    else siblings.add(id);
  }

  find(id: string): KeptUpload | undefined {
    return this.#kept.get(id);
  }

  /**
   * @returns the upload, so that its file can be removed; call {@link removed} then to free its
   * space
   */
  forget(id: string): KeptUpload | undefined {
    const kept = this.#kept.get(id);
    if (kept === undefined) return undefined;
    this.#kept.delete(id);
    this.#written.delete(id);
    const siblings = this.#ofSession.get(kept.owner);
    siblings?.delete(id);
    if (siblings?.size === 0) this.#ofSession.delete(kept.owner);
    return kept;
  }

  removed({ space, sender }: KeptUpload): void {
    this.free(space, accountsOf(sender));
  }

  idsOf(owner: string): readonly string[] {
    return [...(this.#ofSession.get(owner) ?? [])];
  }

  /** Moves the uploads of a session to another one, which has none. */
  move(from: string, to: string): void {
    const moved = this.#ofSession.get(from);
    if (moved === undefined) return;
    this.#ofSession.delete(from);
    this.#ofSession.set(to, moved);
    for (const id of moved) {
      const kept = this.#kept.get(id);
      if (kept !== undefined) this.#kept.set(id, { ...kept, owner: to });
    }
  }

  /**
   * When uploads of an account with that many bytes will have expired; `undefined` if it has fewer
   * bytes.
   */
  expiryOf(bytes: number, account: string): number | undefined {
    let freed = 0;
    let last = 0;
    // Usually the first ones to arrive expire first; otherwise the time is later than necessary.
    for (const { space, sender, expires } of this.#kept.values()) {
      if (!accountsOf(sender).includes(account)) continue;
      freed += space;
      last = Math.max(last, expires);
      if (freed >= bytes) return last;
    }
    return undefined;
  }

  /**
   * Counts bytes of an upload that are stored in an entity; a negative number if they were not
   * stored after all.
   * @returns `false`, and counts nothing, if they would exceed `most`
   */
  write(id: string, bytes: number, most: number): boolean {
    const written = (this.#written.get(id) ?? 0) + bytes;
    if (written > most || !this.#kept.has(id)) return false;
    this.#written.set(id, written);
    return true;
  }

  close(): void {
    this.#kept.clear();
    this.#ofSession.clear();
  }
}

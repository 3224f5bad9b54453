import type { ImageType } from './image-types.js';

/** What is known of an upload whose file is there. */
export interface KeptUpload {
  /** ID of the session that sent it. */
  readonly owner: string;
  readonly path: string;
  /** `undefined` when it is no image. */
  readonly type: ImageType | undefined;
  /** Bytes on disk, whole blocks. */
  readonly space: number;
  /** Milliseconds of the store's clock. */
  readonly expires: number;
}

/** Who sent which upload, and what they take up together; in memory, or where several processes have it. */
export interface UploadLedger {
  /** Bytes on disk of all uploads, those that come in among them. */
  readonly space: number;
  /**
   * Takes space for an upload that comes in.
   * @returns `false`, and takes nothing, when all would take up more than `most`
   */
  reserve(bytes: number, most: number): boolean;
  /** Gives back what was reserved, for an upload that failed. */
  free(bytes: number): void;
  /** What was reserved for it is its own from now on. */
  keep(id: string, upload: KeptUpload): void;
  find(id: string): KeptUpload | undefined;
  /** @returns what was known of it, for who removes its file; its space is free when {@link removed} says so */
  forget(id: string): KeptUpload | undefined;
  removed(upload: KeptUpload): void;
  idsOf(owner: string): readonly string[];
  /** Gives the uploads of a session to another one, which has none. */
  move(from: string, to: string): void;
  /** When the first of all expires. */
  soonestExpiry(): number | undefined;
  close(): void;
}

/** Uploads that this process alone knows. */
export class MemoryUploadLedger implements UploadLedger {
  readonly #kept = new Map<string, KeptUpload>();
  readonly #ofSession = new Map<string, Set<string>>();
  #space = 0;

  get space(): number {
    return this.#space;
  }

  reserve(bytes: number, most: number): boolean {
    if (this.#space + bytes > most) return false;
    this.#space += bytes;
    return true;
  }

  free(bytes: number): void {
    this.#space -= bytes;
  }

  keep(id: string, upload: KeptUpload): void {
    this.#kept.set(id, upload);
    const siblings = this.#ofSession.get(upload.owner);
    if (siblings === undefined) this.#ofSession.set(upload.owner, new Set([id]));
    else siblings.add(id);
  }

  find(id: string): KeptUpload | undefined {
    return this.#kept.get(id);
  }

  forget(id: string): KeptUpload | undefined {
    const kept = this.#kept.get(id);
    if (kept === undefined) return undefined;
    this.#kept.delete(id);
    const siblings = this.#ofSession.get(kept.owner);
    siblings?.delete(id);
    if (siblings?.size === 0) this.#ofSession.delete(kept.owner);
    return kept;
  }

  removed({ space }: KeptUpload): void {
    this.#space -= space;
  }

  idsOf(owner: string): readonly string[] {
    return [...(this.#ofSession.get(owner) ?? [])];
  }

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

  soonestExpiry(): number | undefined {
    let soonest: number | undefined;
    for (const { expires } of this.#kept.values()) {
      soonest = Math.min(soonest ?? expires, expires);
    }
    return soonest;
  }

  close(): void {
    this.#kept.clear();
    this.#ofSession.clear();
  }
}

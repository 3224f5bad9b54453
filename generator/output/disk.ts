/** The few operations of a file system that the output needs; paths are absolute. */
export interface Disk {
  /** What is at a path, without following a link there; `undefined` for nothing. */
  kind(path: string): Promise<DiskKind | undefined>;
  /** The path with every link followed; fails if nothing is there. */
  resolve(path: string): Promise<string>;
  list(folder: string): Promise<readonly string[]>;
  read(path: string): Promise<Uint8Array>;
  /** Writes a new file and flushes it to the disk; fails if something is there. */
  create(path: string, text: string): Promise<void>;
  makeFolder(path: string): Promise<void>;
  /** Replaces a file at `to`. */
  rename(from: string, to: string): Promise<void>;
  removeFile(path: string): Promise<void>;
  /** Fails if the folder is not empty. */
  removeFolder(path: string): Promise<void>;
  /** Flushes the names in a folder to the disk, if the system supports that. */
  flush(folder: string): Promise<void>;
}

export type DiskKind = 'file' | 'folder' | 'link' | 'other';

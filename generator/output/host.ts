import type { Disk } from './disk.js';

/** The machine as far as writing an output needs it. */
export interface Host {
  readonly disk: Disk;
  /** Number of this process. */
  readonly pid: number;
  isAlive(pid: number): boolean;
  pause(milliseconds: number): Promise<void>;
  /** Tells the user what does not make the run fail. */
  warn(message: string): void;
  /** Aborted when the user interrupts the run; its reason is what gets thrown. */
  readonly signal: AbortSignal;
}

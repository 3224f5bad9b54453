import type { ReadUserText } from '../output/user-edits.js';

/** The path, or one with a number behind it, where no file is. */
export async function freePath(read: ReadUserText, path: string): Promise<string> {
  for (let number = 1; ; number += 1) {
    const free = number === 1 ? path : `${path}-${String(number)}`;
    if ((await read(free)).kind === 'absent') return free;
  }
}

// Stops PostgreSQL and removes its folder when the process that started it has ended, for whatever
// reason.
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';

const [folder] = process.argv.slice(2);

process.on('SIGINT', () => {});
process.on('SIGTERM', () => {});
process.stdin.resume();
process.stdin.on('end', async () => {
  try {
    const [pid] = readFileSync(join(folder, 'data', 'postmaster.pid'), 'utf8').split('\n');
    process.kill(Number(pid), 'SIGQUIT');
    // Its processes end within a short time.
    await setTimeout(500);
  } catch {
    // The process has ended already.
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
});

// Ends PostgreSQL and removes its folder when the process is gone that started it, however that ended.
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
    // Its processes end within some moments.
    await setTimeout(500);
  } catch {
    // It has ended by itself.
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
});

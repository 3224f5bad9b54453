// Runs scripts of npm at the same time: `side-by-side.mjs lint typecheck,circular` runs `typecheck` and then `circular` while
// `lint` runs. Each uses one processor. What a script prints follows when it has ended; a failure ends with 1.
import { spawn } from 'node:child_process';

const lanes = process.argv.slice(2).map((names) => names.split(','));
const results = await Promise.all(lanes.map(runAll));
process.exitCode = results.every(Boolean) ? 0 : 1;

async function runAll(names) {
  for (const name of names) if (!(await run(name))) return false;
  return true;
}

function run(name) {
  return new Promise((resolve, reject) => {
    const child = spawn('npm', ['run', name], {
      stdio: ['ignore', 'pipe', 'pipe'],
      shell: process.platform === 'win32',
    });
    const printed = [];
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => printed.push(chunk));
    }
    child.on('error', reject);
    child.on('close', (code, signal) => {
      process.stdout.write(Buffer.concat(printed));
      if (code !== 0) console.error(`${name} failed: ${code ?? signal}`);
      resolve(code === 0);
    });
  });
}

// Runs scripts of npm at the same time: `side-by-side.mjs checks install,test` runs `install` and
// then `test` while `checks` runs. The last ones print as they run. What another one prints follows
// when it has ended. Ends with 1 if one fails, after all others.
import { spawn } from 'node:child_process';

const lanes = process.argv.slice(2).map((names) => names.split(','));
const failures = [];
await Promise.all(lanes.map(runAll));
for (const failure of failures) console.error(failure);
process.exitCode = failures.length === 0 ? 0 : 1;

async function runAll(names, lane) {
  for (const name of names) if (!(await run(name, lane === lanes.length - 1))) return;
}

function run(name, isShown) {
  return new Promise((resolve, reject) => {
    const child = spawn('npm', ['run', name], {
      stdio: isShown ? 'inherit' : ['ignore', 'pipe', 'pipe'],
      shell: process.platform === 'win32',
    });
    const printed = [];
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk) => printed.push(chunk));
    }
    child.on('error', reject);
    child.on('close', (code, signal) => {
      process.stdout.write(Buffer.concat(printed));
      if (code !== 0) failures.push(`npm run ${name} failed: ${code ?? signal}`);
      resolve(code === 0);
    });
  });
}

/**
 * Measures the generator as a whole process, on models of 30, 300 and 1,000 dataclasses with 20
 * attributes each, and the waiting times of a developer who works on a server.
 *
 *   npm run bench:generate
 *   npm run bench:generate -- --only-loop
 *
 * How to read the first table: seconds of the first run into an empty folder, and of a second one
 * that finds nothing to change; medians of three. The milliseconds per dataclass, without the time
 * for a model of one, are constant if the time grows linearly.
 *
 * The second table is in seconds: the build (`tsc`) of a new server, after a change of class code,
 * and after a change of the model; the time from the model to a listening server, in an empty
 * folder and after a change of a built model; and the time from a change of class code to the next
 * listening server under `npm run dev`.
 */
import { spawn } from 'node:child_process';
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { run } from './command.js';
import { largeModel } from './large-model.js';
import { compiler, root, tsx, typescript, work } from './places.js';
import { median } from './report.js';
import { aligned } from './table.js';

const folder = join(work, 'generate');
const repetitions = 3;
const isLoopOnly = process.argv.includes('--only-loop');

interface Times {
  readonly fresh: number;
  readonly again: number;
}

mkdirSync(folder, { recursive: true });
const loops: Loop[] = [];
for (const size of [12, 30, 300]) loops.push(await measureLoop(size));
const generated = isLoopOnly ? undefined : measureGenerator();
console.log(
  aligned([
    ['dataclasses', 'build', 'class code', 'model', 'to server', 'again', 'dev'],
    ...loops.map(({ size, ...times }) => [String(size), ...Object.values(times).map(seconds)]),
  ]),
);
const result = { node: process.version, ...generated, loops };
writeFileSync(join(work, 'generate.json'), `${JSON.stringify(result, undefined, 2)}\n`);

function measureGenerator(): object {
  const start = measure(1);
  const results = [30, 300, 1_000].map((size) => ({ size, ...measure(size) }));
  console.log(
    aligned([
      ['dataclasses', 'fresh s', 'again s', 'fresh ms each', 'again ms each'],
      ...results.map(({ size, fresh, again }) => [
        String(size),
        seconds(fresh),
        seconds(again),
        ((fresh - start.fresh) / (size - 1)).toFixed(2),
        ((again - start.again) / (size - 1)).toFixed(2),
      ]),
    ]),
  );
  return { one: start, results };
}

/** Milliseconds. */
function measure(size: number): Times {
  const model = join(folder, `${size}.yaml`);
  const output = join(folder, String(size));
  writeFileSync(model, largeModel(size));
  const generate = (): number =>
    run(process.execPath, [compiler, model, '-o', output], { cwd: root });
  const fresh: number[] = [];
  const again: number[] = [];
  for (let i = 0; i < repetitions; i += 1) {
    rmSync(output, { recursive: true, force: true });
    fresh.push(generate());
    again.push(generate());
  }
  return { fresh: median(fresh), again: median(again) };
}

/** Milliseconds, medians. */
interface Loop {
  readonly size: number;
  readonly build: number;
  readonly afterClassCode: number;
  readonly afterModel: number;
  readonly toServer: number;
  readonly toServerAgain: number;
  readonly restart: number;
}

async function measureLoop(size: number): Promise<Loop> {
  const model = join(folder, `loop-${size}.yaml`);
  const output = join(folder, `loop-${size}`);
  const generate = (text: string): number => {
    writeFileSync(model, text);
    return run(process.execPath, [compiler, model, '-o', output], { cwd: root });
  };
  const build = (): number => run(process.execPath, [typescript, '-p', output], { cwd: root });
  const classFile = join(output, 'src/classes/Thing0.ts');
  const times: Omit<Loop, 'size'>[] = [];
  for (let i = 0; i < repetitions; i += 1) {
    rmSync(output, { recursive: true, force: true });
    const generated = generate(modelWithClass(size, 'string'));
    const built = build();
    const started = await listening(output, [join(output, 'dist/src/main.js')]);
    await started.stop();
    appendFileSync(classFile, `\nexport const changed${i} = ${i};\n`);
    const afterClassCode = build();
    const generatedAgain = generate(modelWithClass(size, 'number'));
    const afterModel = build();
    const startedAgain = await listening(output, [join(output, 'dist/src/main.js')]);
    await startedAgain.stop();
    times.push({
      build: built,
      afterClassCode,
      afterModel,
      toServer: generated + built + started.milliseconds,
      toServerAgain: generatedAgain + afterModel + startedAgain.milliseconds,
      restart: await measureRestart(output, classFile),
    });
  }
  const middle = (of: keyof Omit<Loop, 'size'>): number => median(times.map((each) => each[of]));
  return {
    size,
    build: middle('build'),
    afterClassCode: middle('afterClassCode'),
    afterModel: middle('afterModel'),
    toServer: middle('toServer'),
    toServerAgain: middle('toServerAgain'),
    restart: middle('restart'),
  };
}

/** The model with a file of class code. */
function modelWithClass(size: number, type: 'string' | 'number'): string {
  return largeModel(size).replace(
    '  Thing0:\n    attributes:\n',
    `  Thing0:\n    functions: { dataclass: { word: { returns: string } } }\n    attributes:\n      changing: ${type}\n`,
  );
}

/** `npm run dev` without npm. */
async function measureRestart(output: string, classFile: string): Promise<number> {
  const watched = await listening(output, [tsx, 'watch', 'src/main.ts']);
  // It watches a file only some time after loading it.
  await sleep(1_000);
  const begin = performance.now();
  appendFileSync(classFile, '// changed\n');
  await watched.again();
  const milliseconds = performance.now() - begin;
  await watched.stop();
  return milliseconds;
}

interface ListeningServer {
  readonly milliseconds: number;
  /** Resolves when it listens again. */
  readonly again: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

/** Starts a server with an empty database, and waits until it listens. */
async function listening(output: string, args: readonly string[]): Promise<ListeningServer> {
  const begin = performance.now();
  const child = spawn(process.execPath, args, {
    cwd: output,
    env: { ...process.env, PORT: '0', LOG_LEVEL: 'error', DATABASE_URL: 'sqlite::memory:' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  const next = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const before = printed.split('listening').length;
      child.stdout.on('data', () => {
        if (printed.split('listening').length > before) resolve();
      });
      child.once('exit', () => {
        reject(new Error(`${args.join(' ')} has ended.`));
      });
    });
  await next();
  return {
    milliseconds: performance.now() - begin,
    again: next,
    stop: async () => {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      await ended;
    },
  };
}

function seconds(milliseconds: number): string {
  return (milliseconds / 1_000).toFixed(2);
}

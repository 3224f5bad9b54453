/**
 * Measures the generator as a whole process, on models of 30, 300 and 1,000 dataclasses with 20 attributes each.
 *
 *   npm run bench:generate
 *
 * How to read the table: seconds that the first run into an empty folder takes, and a second one that finds nothing to change;
 * medians of three. The milliseconds for a dataclass, without what a model of one takes, stay the same where the time grows
 * linearly. The last line is the type check of what is emitted for 300 dataclasses.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './command.js';
import { largeModel } from './large-model.js';
import { compiler, root, typescript, work } from './places.js';
import { median } from './report.js';
import { aligned } from './table.js';

const folder = join(work, 'generate');
const repetitions = 3;
const checked = 300;

interface Times {
  readonly fresh: number;
  readonly again: number;
}

const start = measure(1);
const sizes = [30, checked, 1_000];
const results = sizes.map((size) => ({ size, ...measure(size) }));
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
const project = join(folder, String(checked));
const typeCheck = run(process.execPath, [typescript, '--noEmit', '-p', project], { cwd: root });
console.log(`type check of ${checked} dataclasses: ${seconds(typeCheck)} s`);
const result = { node: process.version, one: start, results, typeCheck };
writeFileSync(join(work, 'generate.json'), `${JSON.stringify(result, undefined, 2)}\n`);

/** Milliseconds. */
function measure(size: number): Times {
  const model = join(folder, `${size}.yaml`);
  const output = join(folder, String(size));
  mkdirSync(folder, { recursive: true });
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

function seconds(milliseconds: number): string {
  return (milliseconds / 1_000).toFixed(2);
}

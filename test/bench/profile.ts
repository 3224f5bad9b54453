/**
 * Shows where the generated server and the yardsticks spend their processor time for one kind of
 * request.
 *
 *   npm run bench:profile -- --only R7 [--database postgres] [--seconds 5] [--scale 100k] [--node 24]
 *
 * How to read the tables: microseconds per request of a function itself, without the functions that
 * it calls. Native code (SQLite, sockets) is listed with its caller. The profiles are kept in
 * `.tmp/bench/profiles` for Chrome's tools.
 */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { contextOf } from './contest.js';
import { chooseCores } from './cores.js';
import { seededRandom } from './data/random.js';
import { openDatabases } from './databases.js';
import { measure } from './measure.js';
import { readOptions } from './options.js';
import { work } from './places.js';
import { type Field, Preparation } from './prepare.js';
import type { BenchRequest } from './requests.js';
import { selfTimes } from './self-times.js';
import { Server, type ServerFiles } from './server.js';
import { aligned } from './table.js';

const shown = 30;
const warmUpSeconds = 3;
const folder = join(work, 'profiles');
const hook = pathToFileURL(join(import.meta.dirname, 'profiler.js')).href;
const options = readOptions(process.argv.slice(2));
const cores = chooseCores();
const databases = await openDatabases(options.database);
const preparation = new Preparation(options.node, undefined, databases);
const load = { seconds: options.seconds, random: seededRandom(7), cores: cores?.load ?? [] };
mkdirSync(folder, { recursive: true });
for (const request of options.requests) {
  const field = await preparation.field(request.variant, options.rows ?? request.rows);
  const servers = await preparation.withDatabases(field);
  for (const files of servers) await profile(request, field, files);
}
await databases.close();

async function profile(request: BenchRequest, field: Field, files: ServerFiles): Promise<void> {
  const file = join(folder, `${request.name}-${files.name}.cpuprofile`);
  rmSync(file, { force: true });
  const place = { node: preparation.node, cores: cores?.server, options: ['--import', hook] };
  const server = await Server.start({ ...files, env: { PROFILE: file } }, place);
  const context = await contextOf(server, request, field);
  await measure(server, request, context, { ...load, seconds: warmUpSeconds });
  server.signal('SIGUSR2');
  const { cpuMicroseconds = Number.NaN } = await measure(server, request, context, load);
  server.signal('SIGUSR2');
  await server.stop();
  console.log(
    `\n${request.name} ${files.name}: ${cpuMicroseconds.toFixed(1)} microseconds a request`,
  );
  const times = selfTimes(file).slice(0, shown);
  console.log(
    aligned(times.map(({ place, part }) => [(part * cpuMicroseconds).toFixed(2), place])),
  );
}

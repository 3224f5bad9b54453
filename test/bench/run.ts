/**
 * Compares the generated server of `model.yaml` with two that were written by hand for it
 * (`yardstick/`), on the same data. First it checks that all of them give the same answers.
 *
 *   npm run bench -- [--database postgres] [--only R1,R10] [--scale 10k|100k|1m] [--rounds 5] [--seconds 3] [--node 24] [--before <folder>] [--cap]
 *
 * How to read the table: for each kind of request (`requests.ts`) and server it shows medians over
 * the rounds: requests per second, the median and the 99th percentile of the response time, the
 * processor time per request, and the memory of the server. The star marks the yardstick, which is
 * the faster of the two servers written by hand. `ratio` is requests per second of the generated
 * server divided by those of the yardstick. It is computed for each round; the table shows the
 * median and the range of the middle half. 1.00 is as fast as by hand. `least` is processor time,
 * too: the minimum of many short slices in which the servers take turns. `cpu` is the ratio of that
 * to the cheaper server written by hand. Other work on the machine disturbs it least: if the range
 * in brackets is wide, `cpu` says more than `ratio`.
 *
 * `--before` also measures the server of another checkout, in which `npm run build` was run. The
 * column `before` compares the generated server with that one in requests per second, and in
 * processor time.
 *
 * `--database postgres` measures on PostgreSQL, against a server that was written by hand with `pg`, and one that keeps in the
 * database what the first has in memory (`durable`).
 *
 * `--cap` measures SAP CAP as well, with the nearest equal of each request that has one; it is installed into `.tmp/bench/cap`.
 * What was measured is kept in `.tmp/bench/results`, also as a picture; `npm run bench:table` writes it into README.md of this folder.
 */
import { capRequest } from './cap/cap-requests.js';
import { runScript } from './command.js';
import { contest } from './contest.js';
import { chooseCores } from './cores.js';
import { seededRandom } from './data/random.js';
import { openDatabases } from './databases.js';
import { type Options, readOptions } from './options.js';
import { Preparation } from './prepare.js';
import { type Summary, summarize } from './report.js';
import { saveResult } from './result.js';
import { table } from './table.js';

await runScript(async () => {
  const options = readOptions(process.argv.slice(2));
  console.log(table(await bench(options)));
});

/** Each result is stored at once, because a run takes an hour. */
async function bench(options: Options): Promise<readonly Summary[]> {
  const { rounds, seconds, requests } = options;
  const cores = chooseCores();
  const { database } = options;
  const databases = await openDatabases(database);
  const preparation = new Preparation(options.node, options.before, databases);
  const cap = options.cap ? preparation.cap() : undefined;
  const settings = {
    rounds,
    load: { seconds, random: seededRandom(7), cores: cores?.load ?? [] },
    place: { node: preparation.node, cores: cores?.server },
  };
  const results: Summary[] = [];
  for (const request of requests) {
    const rows = options.rows ?? request.rows;
    console.error(`> ${request.name}, ${rows} employees: ${request.title}`);
    const field = await preparation.field(request.variant, rows);
    const peer = capRequest(request) && cap?.server(field.filled);
    const measured = await contest(
      await preparation.withDatabases(field),
      peer,
      request,
      field,
      settings,
    );
    results.push(summarize(measured));
    saveResult({ database, node: options.node ?? process.version, rounds, seconds, results });
  }
  await databases.close();
  return results;
}

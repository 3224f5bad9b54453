import Database from 'better-sqlite3';
import pg from 'pg';

/**
 * Loaded before a program: `KILL_AT=3` ends it like `kill -9` before its third statement that
 * changes a table of the model or ends a transaction. The time after the end of a transaction
 * counts separately.
 */
const last = Number(process.env['KILL_AT']);
const changing = /^\s*(?:ALTER|DROP|COMMIT|CREATE TABLE (?!IF NOT)|UPDATE "[^_])/;
let changes = 0;

function count(sql) {
  if (!changing.test(sql)) return;
  changes += 1;
  if (changes === last) process.kill(process.pid, 'SIGKILL');
}

for (const name of ['exec', 'prepare']) {
  const original = Database.prototype[name];
  Database.prototype[name] = function (sql) {
    // The schema of a model is created in memory for comparison.
    if (this.memory) return original.call(this, sql);
    count(sql);
    const result = original.call(this, sql);
    if (sql === 'COMMIT') count(sql);
    return result;
  };
}

const { query } = pg.Client.prototype;
pg.Client.prototype.query = function (config, ...rest) {
  const sql = typeof config === 'string' ? config : config.text;
  count(sql);
  const result = query.call(this, config, ...rest);
  if (sql !== 'COMMIT') return result;
  return result.then((answer) => {
    count(sql);
    return answer;
  });
};

import Database from 'better-sqlite3';
import pg from 'pg';

/**
 * Loaded before a program: `KILL_AT=3` ends it, as `kill -9` does, where it would send the third statement that changes
 * a table of the model, or ends a transaction.
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
    // What a model wants is made in memory, to be looked at.
    if (!this.memory) count(sql);
    return original.call(this, sql);
  };
}

const { query } = pg.Client.prototype;
pg.Client.prototype.query = function (config, ...rest) {
  count(typeof config === 'string' ? config : config.text);
  return query.call(this, config, ...rest);
};

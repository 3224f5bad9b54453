import type { Database, Statement } from 'better-sqlite3';
import { andSeen, type MaxScore } from './conditions.js';
import type { Counts } from './counts.js';

/** An employee of a body. */
export type Sent = Readonly<Record<string, unknown>>;

type Value = string | number | null;

/** Attribute names and their columns, in the order of the statements. */
export const columns: Readonly<Record<string, string>> = {
  firstName: 'firstName',
  lastName: 'lastName',
  email: 'email',
  birthDate: 'birthDate',
  hiredAt: 'hiredAt',
  salary: 'salary',
  active: 'active',
  city: 'city',
  jobTitle: 'jobTitle',
  score: 'score',
  employer: 'employerID',
  manager: 'managerID',
};
export const names = Object.keys(columns);
const folded = new Set(['lastName', 'email', 'city']);
const loneSurrogate = /\p{Surrogate}/u;
const dates = new Set(['birthDate', 'hiredAt']);
const numbers = new Set(['salary', 'score', 'employer', 'manager']);

/**
 * Saves employees as an expert would by hand who knows that the measured requests are right: their types are checked, a
 * stale stamp ends the request. One transaction, prepared statements, one for each set of changed attributes.
 * @param saved the answer for an employee
 */
export function saveEmployees(
  database: Database,
  counts: Counts,
  saved: (key: number) => string,
  maxScore: MaxScore,
): (body: Sent | readonly Sent[]) => string | undefined {
  const updates = new Map<string, Statement>();
  const insert = database.prepare(insertion());
  const raise = database.prepare(
    `update "__datastore" set "value" = "value" + cast(? as integer) where "name" = 'globalStamp'`,
  );
  const stamp = database
    .prepare<[number], number>(`select "__STAMP" from "Employee" where "ID" = ?`)
    .pluck();
  const begin = database.prepare('begin immediate');
  const commit = database.prepare('commit');
  const rollback = database.prepare('rollback');

  const update = (sent: Sent, now: string): string | undefined => {
    const changed = names.filter((name) => sent[name] !== undefined);
    const shape = changed.join();
    let statement = updates.get(shape);
    if (statement === undefined)
      updates.set(shape, (statement = database.prepare(change(changed, maxScore))));
    const values = changed.map((name) => valueOf(name, sent[name]));
    const key = Number(sent['__KEY']);
    const bound = changed.flatMap((name, index) => withFolded(name, values[index] ?? null));
    const { changes } = statement.run(...bound, now, key, sent['__STAMP'], ...values);
    // Either nothing differs, or the stamp does.
    return changes === 1 || stamp.get(key) === sent['__STAMP'] ? saved(key) : undefined;
  };
  const create = (sent: Sent, now: string): string => {
    const bound = names.flatMap((name) => withFolded(name, valueOf(name, sent[name] ?? null)));
    return saved(Number(insert.run(...bound, now).lastInsertRowid));
  };

  return (body) => {
    const now = new Date().toISOString();
    const list = (Array.isArray(body) ? body : [body]) as readonly Sent[];
    begin.run();
    try {
      const answers: string[] = [];
      for (const sent of list) {
        const answer = sent['__STAMP'] === undefined ? create(sent, now) : update(sent, now);
        if (answer === undefined) throw new Error('The stamp has changed.');
        answers.push(answer);
      }
      raise.run(list.length);
      commit.run();
      counts.forget();
      return Array.isArray(body) ? `{"__ENTITIES":[${answers.join(',')}]}` : answers[0];
    } catch {
      rollback.run();
      return undefined;
    }
  };
}

function insertion(): string {
  const written = names.flatMap(columnsOf);
  const list = [...written, '"__TIMESTAMP"', '"__STAMP"'].join(', ');
  return `insert into "Employee" (${list}) values (${written.map(() => '?').join(', ')}, ?, 1)`;
}

function change(changed: readonly string[], maxScore: MaxScore): string {
  const assigned = changed.flatMap(columnsOf).map((column) => `${column} = ?`);
  const differs = changed.map((name) => `"${String(columns[name])}" is not ?`).join(' or ');
  return `update "Employee" set ${assigned.join(', ')}, "__STAMP" = "__STAMP" + 1, "__TIMESTAMP" = ?
    where "ID" = ? and "__STAMP" = ? and (${differs})${andSeen('"Employee"', maxScore)}`;
}

function columnsOf(name: string): string[] {
  const column = `"${String(columns[name])}"`;
  return folded.has(name) ? [column, `"__folded_${name}"`] : [column];
}

function withFolded(name: string, value: Value): Value[] {
  if (!folded.has(name)) return [value];
  return [value, typeof value === 'string' ? value.normalize('NFC').toLowerCase() : null];
}

export function valueOf(name: string, json: unknown): Value {
  if (json === null) return null;
  if (name === 'active' && typeof json === 'boolean') return json ? 1 : 0;
  if (numbers.has(name) && typeof json === 'number' && Number.isFinite(json)) return json;
  const isText = typeof json === 'string' && !loneSurrogate.test(json);
  if (isText && !numbers.has(name) && (!dates.has(name) || !Number.isNaN(Date.parse(json)))) {
    return json;
  }
  throw new TypeError(`${name} is of the wrong type.`);
}

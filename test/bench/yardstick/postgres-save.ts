import type { MaxScore } from './conditions.js';
import type { PostgresAnswer, PostgresAnswers } from './postgres-answers.js';
import { type Ask, SessionEnded } from './postgres-ask.js';
import type { Known } from './postgres-known.js';
import { employeeColumns, savedColumns } from './postgres-text.js';
import { columns, names, type Sent, valueOf } from './save.js';

/**
 * Saves employees as an expert would by hand who knows that the measured requests are right: their types are checked, a
 * stale stamp ends the request. Each request is one statement, which is a transaction of its own.
 */
export class PostgresSave {
  readonly #columns: string;

  constructor(
    private readonly ask: Ask,
    private readonly known: Known,
    private readonly answers: PostgresAnswers,
    private readonly maxScore: MaxScore,
  ) {
    this.#columns = `${savedColumns}, ${employeeColumns({ maxScore })}`;
  }

  save(body: Sent | readonly Sent[]): Promise<PostgresAnswer> {
    return Array.isArray(body) ? this.#create(body as readonly Sent[]) : this.#update(body as Sent);
  }

  async #update(sent: Sent): Promise<PostgresAnswer> {
    const changed = names.filter((name) => sent[name] !== undefined);
    const values = changed.map((name) => valueOf(name, sent[name]));
    const key = Number(sent['__KEY']);
    const [row] = await this.ask(
      `update ${String(this.maxScore)} ${changed.join()}`,
      () => this.#updateText(changed),
      [key, sent['__STAMP'], new Date().toISOString(), ...values, ...foldedOf(changed, values)],
    );
    if (row !== undefined) {
      this.known.changed(1);
      return row[0] as string;
    }
    // Nothing differs, or the stamp does.
    const stamp = (): string =>
      `select "__STAMP"${this.ask.isAllowed} from "Employee" where "ID" = $1`;
    const [stored] = await this.ask('stamp', stamp, [key]);
    return Number(stored?.[0]) === sent['__STAMP'] ? this.answers.saved(key) : undefined;
  }

  #updateText(changed: readonly string[]): string {
    const column = (name: string): string => `"${String(columns[name])}"`;
    const value = (index: number): string => `$${index + 4}`;
    const assigned = changed.map((name, index) => `${column(name)} = ${value(index)}`);
    const folded = foldedNames(changed).map(
      (name, index) => `"__folded_${name}" = ${value(changed.length + index)}`,
    );
    const differs = changed.map(
      (name, index) => `e.${column(name)} is distinct from ${value(index)}`,
    );
    const seen = this.maxScore === undefined ? '' : ` and e."score" < ${this.maxScore}`;
    return `with "changed" as (
        update "Employee" e set ${[...assigned, ...folded].join(', ')}, "__STAMP" = e."__STAMP" + 1, "__TIMESTAMP" = $3
        where e."ID" = $1 and e."__STAMP" = $2 and (${differs.join(' or ')})${seen}${this.ask.ifAllowed} returning e.*)${this.known.raisedBy('changed')}
      select row_to_json(r)::text from (select ${this.#columns} from "changed" e) r`;
  }

  async #create(list: readonly Sent[]): Promise<PostgresAnswer> {
    const rows = list.map((sent) => {
      const values = names.map((name) => valueOf(name, sent[name] ?? null));
      const row: Record<string, unknown> = {};
      for (const [index, name] of names.entries()) row[String(columns[name])] = values[index];
      for (const [index, name] of foldedNames(names).entries()) {
        row[`__folded_${name}`] = foldedOf(names, values)[index];
      }
      return row;
    });
    const [row] = await this.ask(
      `create ${String(this.maxScore)}`,
      () => this.#createText(Object.keys(rows[0] ?? {})),
      [JSON.stringify(rows), new Date().toISOString()],
    );
    if (row?.[0] === null) throw new SessionEnded();
    this.known.changed(list.length);
    return `{"__ENTITIES":${String(row?.[0])}}`;
  }

  #createText(written: readonly string[]): string {
    const all = written.map((each) => `"${each}"`).join(', ');
    return `with "created" as (
        insert into "Employee" (${all}, "__TIMESTAMP", "__STAMP")
        select ${all}, $2, 1 from json_populate_recordset(null::"Employee", $1) where true${this.ask.ifAllowed} returning *)${this.known.raisedBy('created')}
      select json_agg(r)::text from (select ${this.#columns} from "created" e) r`;
  }
}

function foldedNames(of: readonly string[]): readonly string[] {
  return of.filter((name) => ['lastName', 'email', 'city'].includes(name));
}

function foldedOf(of: readonly string[], values: readonly unknown[]): readonly unknown[] {
  return foldedNames(of).map((name) => {
    const value = values[of.indexOf(name)];
    return typeof value === 'string' ? value.normalize('NFC').toLowerCase() : null;
  });
}

import type { Ask } from './postgres-ask.js';

/** A statement that reads a page. */
export interface PageStatement {
  readonly name: string;
  /** The name of what is counted, the values of its filter included. */
  readonly counted: string;
  readonly rows: () => string;
  readonly count: () => string;
  readonly values: readonly unknown[];
}

interface Page {
  readonly stamp: number;
  readonly count: number;
  readonly sent: number;
  /** JSON of the rows. */
  readonly list: string;
}

/** How the server knows the global stamp, and the numbers of employees and companies. */
export interface Known {
  /** The global stamp in a statement, with the value of its parameter if it is one. */
  stampAt(position: number): { readonly text: string; readonly values: readonly unknown[] };
  /** One statement: it counts only if the number is not known. */
  page(ask: Ask, statement: PageStatement): Promise<Page>;
  /** A part of a WITH clause that raises the global stamp by the rows of another part. */
  raisedBy(rows: string): string;
  changed(count: number): void;
}

const pageColumns = `count(*)::int, coalesce(json_agg(r), '[]')::text`;

/** In memory, since nobody else writes: numbers are known until something is saved. */
export class KnownInMemory implements Known {
  #counts = new Map<string, number>();

  constructor(private globalStamp: number) {}

  stampAt(position: number): { readonly text: string; readonly values: readonly unknown[] } {
    return { text: `$${position}::bigint`, values: [this.globalStamp] };
  }

  async page(ask: Ask, { name, counted, rows, count, values }: PageStatement): Promise<Page> {
    const stamp = this.globalStamp;
    const known = this.#counts.get(counted);
    const [row] =
      known === undefined
        ? await ask(
            `counted ${name}`,
            () => `select ${pageColumns}, (${count()})::int from (${rows()}) r`,
            values,
          )
        : await ask(name, () => `select ${pageColumns} from (${rows()}) r`, values);
    const [sent, list, found = 0] = row as [number, string, number?];
    // A save since then may be missing in the number.
    if (known === undefined && stamp === this.globalStamp) this.#counts.set(counted, found);
    return { stamp, count: known ?? found, sent, list };
  }

  raisedBy(): string {
    return '';
  }

  changed(count: number): void {
    this.globalStamp += count;
    this.#counts = new Map();
  }
}

/** Each connection raises a row of its own, so that no transaction waits for another one. */
const globalStamp = `(select sum("value")::bigint from "__datastore" where "name" like 'globalStamp%')`;

/** In the database, where other servers like this one write: numbers are known for a global stamp. */
export class KnownInDatabase implements Known {
  readonly #counts = new Map<string, { readonly stamp: number; readonly count: number }>();

  stampAt(): { readonly text: string; readonly values: readonly unknown[] } {
    return { text: globalStamp, values: [] };
  }

  async page(ask: Ask, { name, counted, rows, count, values }: PageStatement): Promise<Page> {
    const known = this.#counts.get(counted);
    const [at, number] = [values.length + 1, values.length + 2].map((each) => `$${each}::bigint`);
    const [row] = await ask(
      name,
      () => `with "now" as materialized (select ${globalStamp} as "stamp"),
        "counted" as materialized (select "stamp", case when "stamp" = ${String(at)} then ${String(number)} else (${count()}) end as "count" from "now")
      select ${pageColumns}, (select "stamp" from "counted")::int, (select "count" from "counted")::int${ask.isAllowed} from (${rows()}) r`,
      [...values, known?.stamp ?? null, known?.count ?? null],
    );
    const [sent, list, stamp, found] = row as [number, string, number, number];
    if (known?.stamp !== stamp) this.#counts.set(counted, { stamp, count: found });
    return { stamp, count: found, sent, list };
  }

  raisedBy(rows: string): string {
    return `, "raised" as (
        insert into "__datastore" ("name", "value")
        select 'globalStamp-' || pg_backend_pid(), count(*) from "${rows}" having count(*) > 0
        on conflict ("name") do update set "value" = "__datastore"."value" + excluded."value")`;
  }

  changed(): void {
    // The statement has raised the stamp.
  }
}

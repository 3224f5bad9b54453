import { setTimeout } from 'node:timers/promises';
import { at, Connection, listAt, Refused, type RestLogin, textAt } from '../import/connection.js';
import { ImportStop } from '../import/messages.js';
import type { Draft, DraftPart } from '../import/render.js';
import type { Identity } from '../import/source-model.js';
import { draftOf, type LastNames, relatedKey } from './plan.js';
import { countOf, keyAt, type Page, pageOf, passedAt } from './rest-page.js';
import type { Place, ReadColumn, RowSource, SourceRow } from './rows.js';

interface RestSource {
  readonly rows: RowSource;
  readonly draft: Draft;
}

/** The entities of a running server of the protocol: 4D, Qodly, Wakanda, drs-gen. */
export async function restRows(address: string, login: RestLogin): Promise<RestSource> {
  const connection = await Connection.open(address, login, {
    seconds: 300,
    mebibytes: 1024,
  });
  const answer = await connection.json('$catalog/$all');
  const dataclasses = listAt(answer, 'dataClasses').flatMap((each) => catalogDataclass(each) ?? []);
  if (dataclasses.length === 0) {
    throw new ImportStop('import/empty', connection.shown, 'the catalog names no dataclass');
  }
  return { rows: new RestRows(connection, dataclasses), draft: draftOf(dataclasses) };
}

interface CatalogDataclass {
  readonly name: string;
  readonly key: string;
  /** Whether pages can begin behind a key. */
  readonly hasNumberKey: boolean;
  readonly attributes: readonly string[];
  /** To-one relations. */
  readonly relations: readonly string[];
}

const numberTypes: ReadonlySet<string> = new Set(['long', 'long64', 'word', 'byte', 'integer']);

function catalogDataclass(value: unknown): CatalogDataclass | undefined {
  const name = textAt(value, 'name');
  const attributes = listAt(value, 'attributes');
  const [first] = listAt(value, 'key');
  const key = textAt(first, 'name');
  if (name === undefined || key === undefined) return undefined;
  const ofKind = (kind: string): readonly string[] =>
    attributes.flatMap((each) =>
      textAt(each, 'kind') === kind ? (textAt(each, 'name') ?? []) : [],
    );
  const keyType = textAt(
    attributes.find((each) => textAt(each, 'name') === key),
    'type',
  );
  return {
    name,
    key,
    hasNumberKey: numberTypes.has(keyType ?? ''),
    attributes: ofKind('storage'),
    relations: ofKind('relatedEntity'),
  };
}

/** What the parts of a server are called in a model that was imported from its project. */
export function namesOverRest(draft: Draft, last: LastNames): LastNames {
  const names: Record<Identity, string> = {};
  const sourceName = ({ name, value }: DraftPart, key: string): string => {
    const given = value['restName'] ?? value[key];
    return typeof given === 'string' ? given : name;
  };
  for (const dataclass of draft.dataclasses) {
    const before = last.draft.dataclasses.find(
      (each) => sourceName(each, 'table') === dataclass.name,
    );
    if (before === undefined) continue;
    names[dataclass.id] = last.names[before.id] ?? before.name;
    for (const attribute of dataclass.attributes) {
      const isRelation = attribute.value['type'] === 'relation';
      const part = before.attributes.find(
        (each) =>
          'to' in each.value === isRelation && sourceName(each, 'column') === attribute.name,
      );
      if (part !== undefined) names[attribute.id] = last.names[part.id] ?? part.name;
    }
  }
  return { draft, names };
}

class RestRows implements RowSource {
  readonly shown: string;
  readonly keepsBlanks = true;
  readonly #dataclasses: ReadonlyMap<Identity, CatalogDataclass>;
  /** Addresses of entity sets, for keys that are no numbers. */
  readonly #sets = new Map<Identity, string>();
  /** How many entities the server counts, by the reader that has begun last. */
  readonly #totals = new Map<Identity, number>();
  #pageSize = 500;
  #largestPage = 2_000;

  constructor(
    private readonly connection: Connection,
    dataclasses: readonly CatalogDataclass[],
  ) {
    this.shown = connection.shown;
    this.#dataclasses = new Map(dataclasses.map((each) => [`table:${each.name}`, each]));
  }

  tableName(table: Identity): string {
    return table.slice('table:'.length);
  }

  async count(table: Identity): Promise<number> {
    const { name } = this.#dataclass(table);
    const answer = await this.connection.json(name, { $top: '0' });
    return countOf(answer, this.#shown(name));
  }

  async read(
    table: Identity,
    columns: readonly ReadColumn[],
    after: Place | undefined,
    limit: number,
  ): Promise<readonly SourceRow[]> {
    const { key } = this.#dataclass(table);
    const hasMedia = columns.some(isMedia);
    const most = hasMedia ? Math.min(limit, rowsWithMedia) : limit;
    const names = columns.map(({ column }) => column.replace(/\.__KEY$/, ''));
    const attributes = [...new Set([key, ...names])].join(',');
    for (let place = after; ;) {
      const { entities, passed } = await this.#page(table, attributes, place, most);
      const isEnd = passed === passedAt(place);
      if (isEnd) await this.#requireEnd(table, passed);
      place = [passed, ...(place ?? []).slice(1)];
      // A part of a set may hold deleted entities only.
      if (entities.length === 0 && !isEnd) continue;
      const rows = entities.map(({ entity, ...row }): SourceRow => ({
        place: row.place,
        identity: [row.key],
        values: columns.map((column) => valueOf(entity, column)),
      }));
      if (hasMedia) await this.#fetchMedia(rows, columns);
      return rows;
    }
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #dataclass(table: Identity): CatalogDataclass {
    const found = this.#dataclasses.get(table);
    if (found === undefined) throw new Error(`The source has no ${table}.`);
    return found;
  }

  /** The address of a dataclass. */
  #shown(name: string): string {
    return `${this.shown}${name}`;
  }

  async #page(
    table: Identity,
    attributes: string,
    after: Place | undefined,
    most: number,
  ): Promise<Page> {
    const dataclass = this.#dataclass(table);
    const { name, hasNumberKey } = dataclass;
    const known = after === undefined ? undefined : this.#totals.get(table);
    const total = known ?? (await this.count(table));
    this.#totals.set(table, total);
    const { answer, size } = hasNumberKey
      ? await this.#behind(dataclass, attributes, after, most)
      : await this.#ofSet(table, attributes, after, most);
    const kind = hasNumberKey ? 'behind' : 'set';
    return pageOf(answer, { shown: this.#shown(name), dataclass: name, kind, after, size }, total);
  }

  /** @throws ImportStop if the server counts more entities than it has shown */
  async #requireEnd(table: Identity, passed: number): Promise<void> {
    const total = await this.count(table);
    if (passed >= total) return;
    throw new ImportStop(
      'import/unreadable',
      this.#shown(this.tableName(table)),
      `the pages end after ${String(passed)} of the ${String(total)} entities that the server counts; if somebody has added some meanwhile, begin again with --restart`,
    );
  }

  #behind(
    { name, key }: CatalogDataclass,
    attributes: string,
    after: Place | undefined,
    most: number,
  ): Promise<Answer> {
    // A placeholder may stand for a name that no filter can hold as it is.
    const isPlain = /^[\p{L}\p{N}_]+$/u.test(key);
    const $filter = isPlain ? `"${key} > :1"` : '":2 > :1"';
    // As it is, because JSON.stringify rounds keys beyond 2^53.
    const $params = `[${keyAt(after) ?? ''},${JSON.stringify(key)}]`;
    const filter: Record<string, string> = after === undefined ? {} : { $filter, $params };
    return this.#ask(name, { ...filter, $orderby: `${key} asc`, $attributes: attributes }, most);
  }

  /** Texts compare without case, so a page cannot begin behind one: a set keeps the order. */
  async #ofSet(
    table: Identity,
    attributes: string,
    after: Place | undefined,
    most: number,
  ): Promise<Answer> {
    const parameters = { $attributes: attributes, $skip: String(passedAt(after)) };
    for (let attempt = 0; ; attempt += 1) {
      const set = this.#sets.get(table) ?? (await this.#madeSet(table));
      try {
        return await this.#ask(plainPath(set), parameters, most);
      } catch (error) {
        if (!(error instanceof Refused) || error.status !== 404 || attempt > 2) throw error;
        this.#sets.delete(table);
      }
    }
  }

  async #madeSet(table: Identity): Promise<string> {
    const { name, key } = this.#dataclass(table);
    const made = await this.connection.json(name, {
      $method: 'entityset',
      $timeout: '3600',
      $orderby: `${key} asc`,
      $attributes: key,
      $top: '1',
    });
    const set = textAt(made, '__ENTITYSET');
    if (set === undefined) {
      throw new ImportStop('import/unreadable', this.#shown(name), 'it gave no entity set');
    }
    this.#sets.set(table, set);
    return set;
  }

  /** Asks for fewer entities where a page is too large or takes long, and for more where it is quick. */
  async #ask(
    path: string,
    parameters: Readonly<Record<string, string>>,
    most: number,
  ): Promise<Answer> {
    for (let attempt = 1; ; attempt += 1) {
      const size = Math.max(1, Math.min(this.#pageSize, most));
      const begin = performance.now();
      try {
        const answer = await this.connection.json(path, { ...parameters, $top: String(size) });
        const time = performance.now() - begin;
        if (time > slowPage) this.#pageSize = Math.max(1, Math.floor(size / 2));
        else if (time < quickPage) this.#pageSize = Math.min(2 * this.#pageSize, this.#largestPage);
        return { answer, size };
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        const fewer = Math.max(1, Math.floor(size / 2));
        if (error.status === 400 && size > 1) {
          // The server may have a limit for $top.
          this.#pageSize = this.#largestPage = fewer;
          continue;
        }
        const isTooLarge = error.status === 413 || error.status >= 500;
        if (!isTooLarge || attempt >= attempts) throw error;
        this.#pageSize = fewer;
        await setTimeout(pauseMilliseconds * attempt);
      }
    }
  }

  async #fetchMedia(rows: SourceRow[], columns: readonly ReadColumn[]): Promise<void> {
    const wanted = rows.flatMap((row) =>
      columns.flatMap((column, index) => {
        const uri = textAt(at(row.values[index], '__deferred'), 'uri');
        return isMedia(column) && uri !== undefined ? [{ row, index, uri }] : [];
      }),
    );
    const next = async (): Promise<void> => {
      for (let each = wanted.shift(); each !== undefined; each = wanted.shift()) {
        const bytes = await this.connection.bytes(each.uri);
        (each.row.values as unknown[])[each.index] = bytes.length === 0 ? null : bytes;
      }
    };
    await Promise.all(Array.from({ length: 4 }, next));
  }
}

interface Answer {
  readonly answer: unknown;
  /** How many entities were asked for. */
  readonly size: number;
}

const slowPage = 5_000;
const quickPage = 1_000;
const rowsWithMedia = 32;
const attempts = 5;
const pauseMilliseconds = 500;

function isMedia({ type }: ReadColumn): boolean {
  return type === 'image' || type === 'blob';
}

/** Dates that stand for none. */
const blankDate = /^(?:0{1,2}!0{1,2}!0{1,4}|0000-00-00.*)$/;

function valueOf(entity: unknown, { column, type }: ReadColumn): unknown {
  if (column.endsWith(relatedKey)) {
    const related = at(entity, column.slice(0, -relatedKey.length));
    const key = at(at(related, '__deferred'), '__KEY') ?? at(related, '__KEY') ?? null;
    return key;
  }
  const value = at(entity, column) ?? null;
  return type === 'date' && typeof value === 'string' && (value === '' || blankDate.test(value))
    ? null
    : value;
}

/** The path of an entity set, as an answer has it: servers may have encoded the name of the dataclass. */
function plainPath(address: string): string {
  const path = address.replace(/^.*?\/rest\//, '');
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

import { setTimeout } from 'node:timers/promises';
import { ImportStop } from '../import/messages.js';
import type { Draft, DraftDataclass, DraftPart } from '../import/render.js';
import type { Identity } from '../import/source-model.js';
import type { LastNames } from './plan.js';
import type { Place, ReadColumn, RowSource, SourceRow } from './rows.js';

export interface RestOptions {
  /** Logs in with `$directory/login`. */
  readonly user?: { readonly name: string; readonly password: string } | undefined;
  /** Logs in with the function `authentify`, and these arguments. */
  readonly authentify?: readonly unknown[] | undefined;
  /** A `Cookie` header. */
  readonly cookie?: string | undefined;
}

interface RestSource {
  readonly rows: RowSource;
  readonly draft: Draft;
}

/** The entities of a running server of the protocol: 4D, Qodly, Wakanda, drs-gen. */
export async function restRows(address: string, options: RestOptions): Promise<RestSource> {
  const connection = new Connection(address);
  if (options.cookie !== undefined) connection.setCookies([options.cookie]);
  await connection.logIn(options);
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

/** The parts of a model that hold data. */
function draftOf(dataclasses: readonly CatalogDataclass[]): Draft {
  const none = { dataclass: [], selection: [], entity: [] };
  return {
    properties: {},
    dataclasses: dataclasses.map(({ name, attributes, relations }): DraftDataclass => {
      const id = `table:${name}`;
      const part =
        (type: string, suffix = '') =>
        (each: string): DraftPart => ({
          id: JSON.stringify([id, `${each}${suffix}`]),
          name: each,
          value: { type },
        });
      return {
        id,
        name,
        value: {},
        attributes: [
          ...attributes.map(part('storage')),
          ...relations.map(part('relation', relatedKey)),
        ],
        functions: none,
      };
    }),
    functions: [],
    singletons: [],
  };
}

/** What the parts of a server are called in a model that was imported from its project. */
export function namesOverRest(draft: Draft, last: LastNames): LastNames {
  const names: Record<Identity, string> = {};
  const sourceName = ({ name, value }: DraftPart, key: string): string => {
    const given = value[key];
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

/** Behind the name of a relation: the key that it leads to. */
const relatedKey = '.__KEY';

class RestRows implements RowSource {
  readonly shown: string;
  readonly keepsBlanks = true;
  readonly #dataclasses: ReadonlyMap<Identity, CatalogDataclass>;
  /** Addresses of entity sets, for keys that are no numbers. */
  readonly #sets = new Map<Identity, string>();
  #pageSize = 500;

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
    const answer = await this.connection.json(this.tableName(table), { $top: '0' });
    return Number(at(answer, '__COUNT'));
  }

  async read(
    table: Identity,
    columns: readonly ReadColumn[],
    after: Place | undefined,
    limit: number,
  ): Promise<readonly SourceRow[]> {
    const dataclass = this.#dataclasses.get(table);
    if (dataclass === undefined) throw new Error(`The source has no ${table}.`);
    const hasMedia = columns.some(isMedia);
    const most = hasMedia ? Math.min(limit, rowsWithMedia) : limit;
    const names = columns.map(({ column }) => column.replace(/\.__KEY$/, ''));
    const attributes = [...new Set([dataclass.key, ...names])].join(',');
    for (let from = Number(after?.[0] ?? 0); ;) {
      const { entities, size } = dataclass.hasNumberKey
        ? await this.#behind(dataclass, attributes, after, most)
        : await this.#ofSet(table, dataclass, attributes, from, most);
      const rows: SourceRow[] = [];
      for (const [index, entity] of entities.entries()) {
        const key = textAt(entity, '__KEY');
        // A set shows what was deleted by its stamp alone.
        if (key === undefined) continue;
        const place = dataclass.hasNumberKey ? Number(key) : from + index + 1;
        rows.push({
          place: [place],
          identity: [key],
          values: columns.map((column) => valueOf(entity, column)),
        });
      }
      if (hasMedia) await this.#fetchMedia(rows, columns);
      if (rows.length > 0 || entities.length === 0 || dataclass.hasNumberKey) return rows;
      from += size;
    }
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #behind(
    { name, key }: CatalogDataclass,
    attributes: string,
    after: Place | undefined,
    most: number,
  ): Promise<Page> {
    const filter: Record<string, string> =
      after === undefined ? {} : { $filter: `"${key} > :1"`, $params: JSON.stringify([after[0]]) };
    return this.#page(name, { ...filter, $orderby: `${key} asc`, $attributes: attributes }, most);
  }

  /** Texts compare without case, so a page cannot begin behind one: a set keeps the order. */
  async #ofSet(
    table: Identity,
    { name, key }: CatalogDataclass,
    attributes: string,
    from: number,
    most: number,
  ): Promise<Page> {
    for (let attempt = 0; ; attempt += 1) {
      let set = this.#sets.get(table);
      if (set === undefined) {
        const made = await this.connection.json(name, {
          $method: 'entityset',
          $timeout: '3600',
          $orderby: `${key} asc`,
          $attributes: key,
          $top: '1',
        });
        set = textAt(made, '__ENTITYSET');
        if (set === undefined) {
          throw new ImportStop('import/unreadable', this.shown, `${name} gave no entity set`);
        }
        this.#sets.set(table, set);
      }
      try {
        const parameters = { $attributes: attributes, $skip: String(from) };
        return await this.#page(set.replace(/^.*?\/rest\//, ''), parameters, most);
      } catch (error) {
        if (!(error instanceof Refused) || error.status !== 404 || attempt > 2) throw error;
        this.#sets.delete(table);
      }
    }
  }

  /** Asks for fewer entities where a page is too large or takes long, and for more where it is quick. */
  async #page(
    path: string,
    parameters: Readonly<Record<string, string>>,
    most: number,
  ): Promise<Page> {
    for (let attempt = 1; ; attempt += 1) {
      const size = Math.max(1, Math.min(this.#pageSize, most));
      const begin = performance.now();
      try {
        const answer = await this.connection.json(path, { ...parameters, $top: String(size) });
        const time = performance.now() - begin;
        if (time > slowPage) this.#pageSize = Math.max(1, Math.floor(size / 2));
        else if (time < quickPage) this.#pageSize = Math.min(2 * this.#pageSize, largestPage);
        return { entities: listAt(answer, '__ENTITIES'), size };
      } catch (error) {
        const isTooLarge =
          error instanceof Refused && (error.status === 413 || error.status >= 500);
        if (!isTooLarge || attempt >= attempts) throw error;
        this.#pageSize = Math.max(1, Math.floor(size / 2));
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

interface Page {
  readonly entities: readonly unknown[];
  /** How many were asked for. */
  readonly size: number;
}

const slowPage = 5_000;
const quickPage = 1_000;
const largestPage = 2_000;
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

/** An answer that is none of the expected ones. */
class Refused extends ImportStop {
  constructor(
    place: string,
    readonly status: number,
    reason: string,
  ) {
    super('import/unreadable', place, reason);
  }
}

/** One session with a server; nothing is asked of any other one. */
class Connection {
  readonly shown: string;
  readonly #base: URL;
  readonly #cookies = new Map<string, string>();

  constructor(address: string) {
    let base: URL;
    try {
      base = new URL(address);
    } catch {
      throw new ImportStop('usage', address, 'it is no address; write http://host:port');
    }
    if (base.username !== '' || base.password !== '') {
      throw new ImportStop('usage', base.host, 'name the user with --user, not in the address');
    }
    const path = base.pathname.replace(/\/+$/, '').replace(/\/rest(?:\/.*)?$/, '');
    this.#base = new URL(`${path}/rest/`, base.origin);
    this.shown = this.#base.href;
  }

  setCookies(headers: readonly string[]): void {
    for (const header of headers) {
      for (const part of header.split(/;\s*/).slice(0, 1)) {
        const [, name, value] = /^([^=]+)=(.*)$/.exec(part) ?? [];
        if (name !== undefined) this.#cookies.set(name.trim(), value ?? '');
      }
    }
  }

  async logIn({ user, authentify }: RestOptions): Promise<void> {
    if (user !== undefined) {
      const answer = await this.#json('$directory/login', {
        method: 'POST',
        headers: {
          'username-4D': user.name,
          'password-4D': user.password,
          'session-4D-length': '600',
        },
      });
      if (at(answer, 'result') !== true) {
        throw new ImportStop('import/unreadable', this.shown, 'the login was refused');
      }
    }
    if (authentify !== undefined) {
      await this.#json('$catalog/authentify', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(authentify),
      });
    }
  }

  json(path: string, parameters: Readonly<Record<string, string>> = {}): Promise<unknown> {
    const query = Object.entries(parameters)
      .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
      .join('&');
    return this.#json(query === '' ? path : `${path}?${query}`, {});
  }

  /** @param uri as an answer has it */
  async bytes(uri: string): Promise<Uint8Array> {
    const url = new URL(uri, this.#base);
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#ask(url, {});
      } catch (error) {
        const isPassing = error instanceof Refused && (error.status === 0 || error.status >= 500);
        if (!isPassing || attempt >= attempts) throw error;
        await setTimeout(pauseMilliseconds * attempt);
      }
    }
  }

  async #json(path: string, init: RequestInit): Promise<unknown> {
    const url = new URL(path.split('/').map(pathPart).join('/'), this.#base);
    const text = Buffer.from(await this.#ask(url, init)).toString();
    try {
      return JSON.parse(text) as unknown;
    } catch {
      throw new Refused(this.shown, 0, `the answer to ${path.split('?')[0] ?? ''} is no JSON`);
    }
  }

  async #ask(url: URL, init: RequestInit): Promise<Uint8Array> {
    if (url.origin !== this.#base.origin) {
      throw new Refused(this.shown, 0, 'an answer leads to another server');
    }
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = new Headers(init.headers);
    if (cookie !== '') headers.set('cookie', cookie);
    let response: Response;
    let body: Uint8Array;
    try {
      response = await fetch(url, {
        ...init,
        headers,
        redirect: 'manual',
        signal: AbortSignal.timeout(longestRequest),
      });
      this.setCookies(response.headers.getSetCookie());
      body = await bodyOf(response);
    } catch (error) {
      if (error instanceof ImportStop) throw error;
      const cause = error instanceof Error ? (error.cause ?? error) : error;
      throw new Refused(this.shown, 503, cause instanceof Error ? cause.message : String(cause));
    }
    if (response.ok) return body;
    throw new Refused(this.shown, response.status, reasonOf(response.status, body));
  }
}

/** The name of a dataclass may hold any character; the parameters are written already. */
function pathPart(part: string): string {
  const [name = '', ...query] = part.split('?');
  const encoded = /^\$|^[\w$,()-]*$/.test(name) ? name : encodeURIComponent(name);
  return [encoded, ...query].join('?');
}

const longestRequest = 300_000;
const largestBody = 1024 * 1024 * 1024;

async function bodyOf(response: Response): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += part.length;
    if (size > largestBody) throw new Refused(response.url, 413, 'an answer has more than 1 GiB');
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function reasonOf(status: number, body: Uint8Array): string {
  let message: string | undefined;
  try {
    const errors = at(JSON.parse(Buffer.from(body).toString()) as unknown, '__ERROR');
    message = Array.isArray(errors) ? textAt(errors[0], 'message') : undefined;
  } catch {
    // The status says enough.
  }
  const hint =
    status === 401 || status === 403
      ? '; log in with --user, --authentify or --cookie'
      : status === 402
        ? '; no licence is free, so wait, or end other sessions'
        : '';
  return `it answered ${String(status)}${message === undefined ? '' : `: ${message}`}${hint}`;
}

function at(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}

function textAt(value: unknown, name: string): string | undefined {
  const found = at(value, name);
  return typeof found === 'string' ? found : typeof found === 'number' ? String(found) : undefined;
}

function listAt(value: unknown, name: string): readonly unknown[] {
  const found = at(value, name);
  return Array.isArray(found) ? found : [];
}

import { hash, randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { From, column, keyColumn, selecting } from '../dataclass/source.js';
import type { Dialect } from '../dialect/dialect.js';
import type { Key, KeyList } from '../entity-set/key-list.js';
import { refuse } from '../protocol/errors.js';
import type { AnswerOptions } from '../query/context.js';
import type { OrderItem } from '../query/order-by.js';
import { selectionOrder } from '../query/page.js';
import type { ReadingContext } from '../query/reading-context.js';
import {
  answerStatement,
  chosenEntities,
  firstFilterSlot,
  queryContext,
  type Selection,
  type SelectionStatement,
} from '../query/selection.js';
import {
  boundStatement,
  orderOf,
  resolved,
  type SelectionRequest,
  shapeName,
} from '../query/selection-request.js';
import {
  answerRow,
  nameOfValues,
  type PreparedAnswer,
  type RestrictionKeys,
  TaggedAnswer,
} from '../query/tags.js';
import { keyJson } from '../query/value-json.js';
import { LiveList } from './live-list.js';

/** What {@link LiveLists} needs of the model as a session sees it. */
export interface LiveContext extends ReadingContext {
  /** Tells what `restrict` hides; `undefined` if no dataclass has it. */
  readonly restrictions: RestrictionKeys | undefined;
}

/** A selection whose changes are followed. */
export interface FollowedSelection {
  readonly request: SelectionRequest;
  /** The members of a set without a source, whose order is the list's. */
  readonly members: KeyList | undefined;
}

/** Members of all lists that nobody follows, which are kept for clients that come back, in lists of the largest size. */
const idleLists = 50;

/**
 * The lists that clients follow. Clients whose selections are equal, and who see the same rows, share
 * one, so that it is read once for all of them.
 */
export class LiveLists {
  /** By what decides about their members; the least recently used one first. */
  readonly #lists = new Map<string, SharedList>();

  /** @param mostMembers how many members a list may have */
  constructor(private readonly mostMembers: number) {}

  /**
   * The list of a selection as the current scope sees it, read again if the data has changed.
   * @param version of the data, as the caller knows it
   * @throws RequestError 413 if it has too many members
   */
  async list(
    context: LiveContext,
    followed: FollowedSelection,
    version: unknown,
  ): Promise<SharedList> {
    const { members } = followed;
    if (members !== undefined && members.length > this.mostMembers) throw this.#tooLarge();
    const read = await this.#prepared(context, followed.request);
    const list = this.#shared(read.name);
    if (list.seen === version) return list;
    await list.reading(async () => {
      const address = { address: read.name, known: list.tag };
      const answer = await context.tags.read(address, read);
      const { tag = '', json } = answer instanceof TaggedAnswer ? answer : { json: answer };
      if (json !== undefined) {
        const rows = rowsIn(json, followed);
        if (rows.length > this.mostMembers) throw this.#tooLarge();
        list.tag = tag;
        list.update(rows);
      }
      list.seen = version;
    });
    return list;
  }

  get areNone(): boolean {
    return this.#lists.size === 0;
  }

  /** Forgets lists that no stream has used since a time, or that are too many. */
  forget(isUsed: (list: SharedList) => boolean, before: number): void {
    let idle = 0;
    for (const [name, list] of [...this.#lists].reverse()) {
      if (isUsed(list)) continue;
      idle += list.length;
      if (list.used < before || idle > this.mostMembers * idleLists) this.#lists.delete(name);
    }
  }

  #shared(name: string): SharedList {
    const list = this.#lists.get(name) ?? new SharedList(this.mostMembers);
    list.used = performance.now();
    this.#lists.delete(name);
    this.#lists.set(name, list);
    return list;
  }

  async #prepared(context: LiveContext, given: SelectionRequest): Promise<PreparedList> {
    const { database, options, statements, restrictions } = context;
    const shape = shapeName(['live', given.orderBy]);
    const request = await resolved(context, given, shape);
    const { statement, values, name } = boundStatement(
      statements,
      request,
      shapeName(['live', request.orderBy]),
      {},
      (selection) =>
        listStatement(database.dialect, options, selection, orderOf(request), this.mostMembers + 1),
    );
    const restricted =
      restrictions === undefined || statement.restricted === undefined
        ? []
        : await restrictions.keyOf(statement);
    const parts = [request.baseValue, ...values.slice(firstFilterSlot), '', ...restricted];
    const text = [statements.visible, name, nameOfValues(parts)].join('\n');
    return {
      name: hash('sha256', text, 'base64url'),
      statement,
      values,
      isOfCode: false,
      row: () => answerRow(database, statement, values),
    };
  }

  #tooLarge(): Error {
    return refuse(
      'tooLarge',
      `This server follows sets of at most ${this.mostMembers} entities (LIVE_MEMBERS). Make the set of fewer, by a filter.`,
    );
  }
}

interface PreparedList extends PreparedAnswer {
  /** Equal for lists of the same members. */
  readonly name: string;
}

/** A list that several clients may follow. */
export class SharedList extends LiveList {
  /** A name that no other list has, also of an earlier process: a version means nothing in another list. */
  readonly id = randomBytes(9).toString('base64url');
  /** The entity tag of what was read last. */
  tag = '';
  /** The version of the data that it was read at. */
  seen: unknown;
  /** When a stream last used it, in milliseconds. */
  used = 0;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  /**
   * Runs a reading that begins now or later. Those who wait for one at a time wait for the same.
   * @param read runs in the scope of one of them
   */
  reading(read: () => Promise<void>): Promise<void> {
    if (this.#next !== undefined) return this.#next;
    const run = (): Promise<void> => {
      this.#next = undefined;
      const running = read().finally(() => {
        if (this.#running === running) this.#running = undefined;
      });
      this.#running = running;
      return running;
    };
    if (this.#running === undefined) return run();
    this.#next = this.#running.then(run, run);
    return this.#next;
  }
}

/** Keys, stamps and times of the members in their order, as one JSON list of lists. */
function listStatement(
  dialect: Dialect,
  options: AnswerOptions,
  selection: Selection,
  order: readonly OrderItem[],
  top: number,
): SelectionStatement {
  const context = queryContext(dialect, options);
  const from = new From(context.aliases, selection.dataclass, 'table');
  const { query, condition } = chosenEntities(context, from, selection);
  const { root } = from;
  const pair = dialect.concat([
    '[',
    ...keyJson(context, root.dataclass.key, keyColumn(root)),
    ',',
    { integer: column(root, '__STAMP') },
    ',"',
    column(root, '__TIMESTAMP'),
    '"]',
  ]);
  const sorted = selectionOrder(context, from, selection, order);
  const ordered = from.complete(query, condition).orderBy(sorted).limit(sql.lit(top));
  const pairs = sql`${selecting(ordered, sql`${pair} as "pair"`)}`;
  const alias = context.aliases.next();
  const list = dialect.joinRows(sql`${sql.id(alias, 'pair')}`);
  const json = dialect.concat(['[', sql`(select ${list} from ${pairs} as ${sql.id(alias)})`, ']']);
  return answerStatement(context, sql`select ${json}`);
}

type Row = readonly [key: Key, stamp: number, time: string];

function rowsIn(
  json: string | Uint8Array,
  { request, members }: FollowedSelection,
): readonly Row[] {
  const text = typeof json === 'string' ? json : Buffer.from(json).toString('utf8');
  const { type } = request.dataclass.key;
  const isNumber = type === 'integer' || type === 'number';
  const rows = (JSON.parse(text) as readonly (readonly [string, number, string])[]).map(
    ([key, ...rest]): Row => [isNumber ? Number(key) : key, ...rest],
  );
  if (members === undefined) return rows;
  const found = new Map(rows.map((row) => [row[0], row]));
  return [...members].flatMap((key) => {
    const row = found.get(key);
    return row === undefined ? [] : [row];
  });
}

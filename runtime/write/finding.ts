import { sql } from 'kysely';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { column, From, keyColumn } from '../dataclass/source.js';
import type { StorageDefinition } from '../protocol/definition.js';
import { refuse, type RequestError } from '../protocol/errors.js';
import type { ReadingContext } from '../query/reading-context.js';
import { queryContext, selectionCondition, topSlot } from '../query/selection.js';
import {
  type BoundSelection,
  boundStatement,
  type SelectionRequest,
  shapeName,
} from '../query/selection-request.js';
import { type StoredValue, storedValue } from '../protocol/values.js';
import type { Finder } from './finder.js';
import type { SentTree } from './sent-body.js';
import type { SaveContext } from './surroundings.js';

/** Finds the entities of a body that it names without their stamps. */
export interface Finding {
  /** The entities to save, in the order in which they are saved, as they are when their transaction begins. */
  begin(context: SaveContext, sent: readonly SentTree[]): Promise<readonly SentTree[]>;
  /** An entity as it is now, after others were saved, or after its save was refused. */
  again(context: SaveContext, entity: SentTree): Promise<SentTree>;
}

/** The entity of a key, whatever its stamp is. */
export const findByKey: Finding = {
  begin: (context, sent) => Promise.all(sent.map((each) => findByKey.again(context, each))),
  again: async (context, entity) => {
    const { saver, address, body } = entity;
    const isStamped = (body['__STAMP'] ?? null) !== null;
    return isStamped || 'problems' in address || address.key === undefined
      ? entity
      : { ...entity, address: await saver.existing(context, address.key) };
  },
};

/**
 * Entities by their values of a unique attribute; those that do not exist are created. They are saved
 * in the order of these values: two lists that create the same in opposite orders would wait for each
 * other.
 */
export class UpsertFinding implements Finding {
  constructor(
    private readonly finder: Finder,
    private readonly search: { readonly dataclass: Dataclass; readonly by: StorageDefinition },
  ) {}

  async begin(context: SaveContext, sent: readonly SentTree[]): Promise<readonly SentTree[]> {
    const { finder, search } = this;
    const wanted = sent.map((entity) => {
      const value = this.#valueOf(entity);
      return { entity, value, name: value === null ? '' : finder.comparable(search.by, value) };
    });
    const values = wanted.map(({ value }) => value);
    const found = await finder.findToChange(context.transaction, search, values);
    return wanted.sort(byName).map(({ entity, name }) => {
      const { address, body, saver } = entity;
      return 'problems' in address
        ? entity
        : { ...entity, address: saver.upserted(body, found.get(name)) };
    });
  }

  async again(context: SaveContext, entity: SentTree): Promise<SentTree> {
    const [found = entity] = await this.begin(context, [entity]);
    return found;
  }

  /** Null for a value that is wrong: as that of a new entity, it is refused. */
  #valueOf({ body }: SentTree): StoredValue {
    const { by } = this.search;
    const result = storedValue(by, body[by.name]);
    return result.ok ? result.value : null;
  }
}

/** How many times as many entities as one body holds a change by filter may reach. */
const mostBatches = 100;

/** The entities that a selection has when the transaction begins, all with the values of one body. */
export class ChosenFinding implements Finding {
  readonly #atMost: number;

  /**
   * @param chosen makes the statement that finds at most as many entities, and its values
   * @param atMost none for as many as one body holds
   * @throws RequestError 400 for a limit that is too large
   */
  constructor(
    private readonly chosen: (most: number) => BoundSelection,
    private readonly atMost: number | undefined,
    batchSize: number,
  ) {
    const most = mostBatches * batchSize;
    if (atMost !== undefined && atMost > most) {
      throw refuse('malformedUrl', `$atMost must be at most ${most}.`);
    }
    this.#atMost = atMost ?? batchSize;
  }

  /** @throws RequestError 413 if there are too many */
  async begin(context: SaveContext, [sent]: readonly SentTree[]): Promise<readonly SentTree[]> {
    const { statement, values } = this.chosen(this.#atMost + 1);
    const { rows } = await context.transaction.table(statement, values);
    if (rows.length > this.#atMost) throw this.#tooMany(rows.length);
    return rows.flatMap(([key, stamp]) => {
      const address = { key: key as string | number, stamp: Number(stamp) };
      return sent === undefined ? [] : { ...sent, address };
    });
  }

  #tooMany(found: number): RequestError {
    const allowed =
      this.atMost === undefined
        ? `a change of more than ${this.#atMost} needs $atMost`
        : `$atMost is ${this.#atMost}`;
    return refuse(
      'tooLarge',
      `Nothing was changed: at least ${found} entities match, and ${allowed}.`,
    );
  }

  async again(context: SaveContext, entity: SentTree): Promise<SentTree> {
    return findByKey.again(context, entity);
  }
}

/** The statement that finds the entities of a request, with their stamps, and locks them in the order of their keys. */
export function chosenToChange(
  { database, options, statements }: Pick<ReadingContext, 'database' | 'options' | 'statements'>,
  request: SelectionRequest,
  top: number,
): BoundSelection {
  const { dialect } = database;
  return boundStatement(statements, request, shapeName(['change']), { top }, (selection) => {
    const context = queryContext(dialect, options);
    const from = new From(context.aliases, selection.dataclass);
    const condition = selectionCondition(context, from, selection);
    // A client never changes all entities by accident (protocol P7.44).
    if (condition === undefined) throw new Error('A change without a condition.');
    const key = keyColumn(from.root);
    const order = dialect.lockRows?.(from.root.alias, key, 'change') ?? sql` order by ${key}`;
    const stamp = column(from.root, '__STAMP');
    const statement = dialect.compile(
      sql`select ${key}, ${stamp} ${from.clause} where ${condition}${order} limit ${dialect.integer(sql`${topSlot}`)}`,
    );
    return { statement, filterSlots: context.slots };
  });
}

interface Named {
  /** Equal for values that are equal in comparisons. */
  readonly name: string;
}

/** The order of code units, which is the same in every server. */
export function byName({ name: one }: Named, { name: other }: Named): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

import type { Dataclass } from '../dataclass/dataclasses.js';
import type { BoundedCache } from '../dialect/bounded-cache.js';
import type { Dialect } from '../dialect/dialect.js';
import type { Transaction } from '../dialect/executor.js';
import type { Statement } from '../dialect/statement.js';
import { integerFromText } from '../protocol/numbers.js';
import { EntityCreator } from './create.js';
import { type Body, keyOf, type Writer } from './decode.js';
import type { Refusal } from './refusals.js';
import { SaveTools } from './save-tools.js';
import { EntityUpdater } from './update.js';

/** What became of an entity of a body. */
export type SaveResult = Saved | Refusal;

export interface Saved {
  /** As it is stored, but for the case of a text. */
  readonly key: string | number;
  readonly outcome: 'created' | 'changed' | 'unchanged';
}

/** How an entity is saved. */
export interface SaveOptions {
  readonly timestamp: string;
  /** `false`: a changed entity keeps its stamp, since nothing of it will be kept. */
  readonly isKept: boolean;
  readonly writer: Writer;
}

/** Creates or changes entities of one dataclass: `__KEY` and `__STAMP` tell which (protocol section 11.2). */
export class EntitySaver {
  readonly #creator: EntityCreator;
  readonly #updater: EntityUpdater;
  readonly #tools: SaveTools;

  /** @param statements where those that change entities are kept */
  constructor(
    dialect: Dialect,
    private readonly dataclass: Dataclass,
    statements: BoundedCache<Statement>,
  ) {
    this.#tools = new SaveTools(dialect, dataclass);
    this.#creator = new EntityCreator(dialect, dataclass, this.#tools);
    this.#updater = new EntityUpdater(dialect, dataclass, this.#tools, statements);
  }

  /** Saves one entity, or tells everything that is wrong with it; the transaction goes on either way. */
  async save(transaction: Transaction, body: Body, options: SaveOptions): Promise<SaveResult> {
    const { refusals } = this.#tools;
    const { __KEY: sentKey = null, __STAMP: sentStamp = null } = body;
    if (sentStamp === null) return this.#saveNew(transaction, body, options);
    if (sentKey === null) return refusals.stampWithoutKey();
    const stamp = typeof sentStamp === 'string' ? integerFromText(sentStamp) : sentStamp;
    if (!Number.isSafeInteger(stamp)) return refusals.badStamp();
    const key = keyOf(this.dataclass, sentKey);
    if (key === undefined) return refusals.unknownKey(sentKey);
    const timestamp = options.isKept ? options.timestamp : undefined;
    const { writer } = options;
    const result = await this.#updater.update(
      transaction,
      key,
      Number(stamp),
      body,
      timestamp,
      writer,
    );
    if ('problems' in result) return result;
    return { key, outcome: result.isChange ? 'changed' : 'unchanged' };
  }

  /** An entity whose key alone is sent is created with it, and never overwritten. */
  async #saveNew(
    transaction: Transaction,
    body: Body,
    { timestamp, writer }: SaveOptions,
  ): Promise<SaveResult> {
    const key = keyOf(this.dataclass, body['__KEY']);
    const stamp = key === undefined ? undefined : await this.#updater.stampOf(transaction, key);
    if (key !== undefined && stamp !== undefined) {
      return this.#tools.refusals.stampChanged(key, undefined, stamp);
    }
    const result = await this.#creator.create(transaction, body, timestamp, writer);
    return 'problems' in result ? result : { key: result.key, outcome: 'created' };
  }
}

import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Dialect } from '../dialect/dialect.js';
import { ConstraintError, type Transaction } from '../dialect/executor.js';
import { caught, type Pending, whenThere } from '../dialect/pending.js';
import type { StoredValue } from '../protocol/values.js';
import { decodeNewEntity } from './decode.js';
import type { Author, Body, Decoded } from './decoded.js';
import { type InsertPlan, planInsert } from './insert.js';
import { type Refusal } from './refusals.js';
import type { SaveTools } from './save-tools.js';

interface Created {
  readonly key: string | number;
}

/** Stores new entities of one dataclass. */
export class EntityCreator {
  readonly #insert: InsertPlan;

  constructor(
    dialect: Dialect,
    private readonly dataclass: Dataclass,
    private readonly tools: SaveTools,
  ) {
    this.#insert = planInsert(dialect, dataclass);
  }

  /**
   * Stores one entity, or tells everything that is wrong with it; the transaction goes on either way.
   * @returns its key as it is stored, or why it was not
   */
  create(
    transaction: Transaction,
    body: Body,
    options: Author & { readonly timestamp: string },
  ): Pending<Created | Refusal> {
    const { relations, sequences, refusals } = this.tools;
    const decoded = decodeNewEntity(this.dataclass, body, options);
    const { values, problems } = decoded;
    const given = sequences.given(values);
    return whenThere(relations.resolve(transaction, values), ({ length: unknown }) => {
      if (unknown > 0 || problems.length > 0) return this.#faulty(transaction, decoded);
      return whenThere(sequences.draw(transaction, values), (ended) =>
        ended === undefined
          ? this.#store(transaction, decoded, given, options.timestamp)
          : refusals.sequenceEnded(ended),
      );
    });
  }

  /**
   * Tells everything that {@link create} would find wrong, by reads alone.
   * @returns what would be stored, or why it would not
   */
  async check(
    transaction: Transaction,
    body: Body,
    author: Author,
  ): Promise<Pick<Decoded, 'values'> | Refusal> {
    const { relations, sequences, refusals } = this.tools;
    const decoded = decodeNewEntity(this.dataclass, body, author);
    const { values, problems } = decoded;
    await relations.resolve(transaction, values);
    const faults = await this.tools.faults(transaction, decoded);
    if (problems.length + faults.missing.length + faults.taken.length > 0) {
      return { ...refusals.faulty(faults), values };
    }
    const ended = await sequences.ended(transaction, values);
    return ended === undefined ? { values } : refusals.sequenceEnded(ended);
  }

  #store(
    transaction: Transaction,
    decoded: Decoded,
    given: ReadonlyMap<string, StoredValue>,
    timestamp: string,
  ): Pending<Created | Refusal> {
    const { values } = decoded;
    return caught(
      () => {
        const bound = this.#insert.values(values, timestamp);
        const stored = transaction.run(this.#insert.statement, bound);
        return whenThere(stored, ({ insertedKey }): Pending<Created | Refusal> => {
          const key = values.get(this.dataclass.key.name) as string | number | null | undefined;
          const created = { key: key ?? insertedKey };
          return whenThere(this.tools.sequences.raise(transaction, given), () => created);
        });
      },
      (error) => {
        if (!(error instanceof ConstraintError)) throw error;
        return this.#refused(transaction, error, decoded);
      },
    );
  }

  async #refused(
    transaction: Transaction,
    error: ConstraintError,
    decoded: Decoded,
  ): Promise<Refusal> {
    const { key } = this.dataclass;
    const isDrawn = key.generated === 'sequence' && (decoded.values.get(key.name) ?? null) === null;
    // Rules of the model were checked before: what the database refuses is the number that it drew.
    if (error.kind !== 'check' || !isDrawn) {
      return this.tools.refusedByDatabase(transaction, error, decoded);
    }
    const faults = await this.tools.faults(transaction, decoded);
    const { refusals } = this.tools;
    return faults.missing.length + faults.taken.length > 0
      ? refusals.faulty(faults)
      : refusals.sequenceEnded(key);
  }

  async #faulty(transaction: Transaction, decoded: Decoded): Promise<Refusal> {
    return this.tools.refusals.faulty(await this.tools.faults(transaction, decoded));
  }
}

import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Dialect } from '../dialect/dialect.js';
import { ConstraintError, type Transaction } from '../dialect/executor.js';
import { decodeNewEntity } from './decode.js';
import type { Body, Author } from './decoded.js';
import { type InsertPlan, planInsert } from './insert.js';
import { type Refusal } from './refusals.js';
import type { SaveTools } from './save-tools.js';

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
  async create(
    transaction: Transaction,
    body: Body,
    options: Author & { readonly timestamp: string },
  ): Promise<{ readonly key: string | number } | Refusal> {
    const { relations, sequences, refusals } = this.tools;
    const decoded = decodeNewEntity(this.dataclass, body, options);
    const given = new Map(decoded.values);
    const { values } = decoded;
    if ((await relations.resolve(transaction, values)).length > 0 || decoded.problems.length > 0) {
      return refusals.faulty(await this.tools.faults(transaction, decoded));
    }
    const ended = await sequences.draw(transaction, values);
    if (ended !== undefined) return refusals.sequenceEnded(ended);
    try {
      const bound = this.#insert.values(values, options.timestamp);
      const { insertedKey } = await transaction.run(this.#insert.statement, bound);
      await sequences.raise(transaction, given);
      const key = values.get(this.dataclass.key.name) as string | number | null | undefined;
      return { key: key ?? insertedKey };
    } catch (error) {
      if (!(error instanceof ConstraintError)) throw error;
      const { key } = this.dataclass;
      const isDrawn = key.generated === 'sequence' && (values.get(key.name) ?? null) === null;
      // Rules of the model were checked before: what the database refuses is the number that it drew.
      if (error.kind !== 'check' || !isDrawn) {
        return this.tools.refusedByDatabase(transaction, error, decoded);
      }
      const faults = await this.tools.faults(transaction, decoded);
      return faults.missing.length + faults.taken.length > 0
        ? refusals.faulty(faults)
        : refusals.sequenceEnded(key);
    }
  }
}

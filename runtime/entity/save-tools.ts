import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Dialect } from '../dialect/dialect.js';
import type { ConstraintError, Transaction } from '../dialect/executor.js';
import type { Decoded } from './decoded.js';
import { type Faults, type Refusal, Refusals } from './refusals.js';
import { RelatedKeys } from './related-keys.js';
import { Sequences } from './sequences.js';
import { UniqueValues } from './unique-values.js';

/** What creating and changing entities of one dataclass have in common. */
export class SaveTools {
  readonly relations: RelatedKeys;
  readonly sequences: Sequences;
  readonly refusals: Refusals;
  readonly #uniqueValues: UniqueValues;

  constructor(dialect: Dialect, dataclass: Dataclass) {
    this.relations = new RelatedKeys(dialect, dataclass);
    this.sequences = new Sequences(dialect, dataclass);
    this.refusals = new Refusals(dataclass);
    this.#uniqueValues = new UniqueValues(dialect, dataclass);
  }

  /**
   * Everything that is wrong with the values of an entity, other entities considered.
   * @param existing key of the entity, where it exists
   */
  async faults(
    transaction: Transaction,
    { problems, status, values }: Pick<Decoded, 'problems' | 'status' | 'values'>,
    existing?: string | number,
  ): Promise<Faults> {
    return {
      problems,
      status,
      missing: await this.relations.missing(transaction, values),
      taken: await this.#uniqueValues.taken(transaction, values, existing),
    };
  }

  /** The database names the first constraint alone that an entity would break. */
  async refusedByDatabase(
    transaction: Transaction,
    error: ConstraintError,
    decoded: Decoded,
    existing?: string | number,
  ): Promise<Refusal> {
    const { kind } = error;
    if (kind === 'unique' || kind === 'foreignKey') {
      const faults = await this.faults(transaction, decoded, existing);
      if (faults.missing.length + faults.taken.length > 0) {
        return this.refusals.faulty(faults, existing);
      }
    }
    return this.refusals.brokenRule(error, existing);
  }
}

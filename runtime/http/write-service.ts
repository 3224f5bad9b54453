import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Transaction } from '../dialect/executor.js';
import { Slot, type Statement } from '../dialect/statement.js';
import { type CreateResult, EntityCreator } from '../entity/create.js';
import { refuse } from '../protocol/errors.js';
import type { ReadingContext } from '../query/reading-context.js';
import { planSavedEntity } from '../query/entity.js';
import { wholeEntity } from '../query/projection.js';
import { readJson } from './body.js';

/** What the services of all dataclasses share when they write. */
export interface WritingContext extends ReadingContext {
  readonly limits: ReadingContext['limits'] & { readonly batchSize: number | null };
}

type Body = Readonly<Record<string, unknown>>;

/** Entities that are stored before other requests have their turn; some milliseconds. */
const entitiesPerTurn = 200;

const statusTexts: Readonly<Record<number, string>> = {
  2: 'Stamp has changed',
  4: 'Other error',
  8: 'Serious Validation Error',
};

/** Answers `$method=update` for one dataclass. */
export class WriteService {
  readonly #creator: EntityCreator;
  readonly #readSaved: Statement;
  readonly #raiseGlobalStamp: Statement;

  constructor(
    private readonly context: WritingContext,
    dataclass: Dataclass,
  ) {
    const { dialect } = context.database;
    this.#creator = new EntityCreator(dialect, dataclass);
    this.#readSaved = planSavedEntity(dialect, context.options, dataclass, wholeEntity(dataclass));
    this.#raiseGlobalStamp = dialect.compile(
      sql`update "__datastore" set "value" = "value" + ${dialect.integer(sql`${new Slot(0)}`)} where "name" = 'globalStamp'`,
    );
  }

  /**
   * Stores the entity or the entities of a body, in one transaction. A list keeps what can be stored, and tells of each
   * entity what became of it (protocol section 11.7).
   * @returns the HTTP status, and the JSON of the answer
   */
  async update(
    rawBody: unknown,
    contentType: string | undefined,
  ): Promise<{ readonly status: number; readonly json: string }> {
    const body = readJson(rawBody, contentType);
    const isList = Array.isArray(body);
    const entities = this.#checked(isList ? body : [body]);
    const results = await this.context.database.executor.write((transaction) =>
      this.#store(transaction, entities),
    );
    if (isList) {
      const members = results.map((result) => result.json).join(',');
      return { status: 200, json: `{"__ENTITIES":[${members}]}` };
    }
    return results[0] as { readonly status: number; readonly json: string };
  }

  async #store(
    transaction: Transaction,
    entities: readonly Body[],
  ): Promise<{ readonly status: number; readonly json: string }[]> {
    const timestamp = new Date().toISOString();
    const answers: { status: number; json: string }[] = [];
    let created = 0;
    for (const [index, entity] of entities.entries()) {
      // The awaits of a transaction are answered at once; a long list must not keep other requests waiting.
      if (index % entitiesPerTurn === entitiesPerTurn - 1) await setImmediate();
      const result = await this.#creator.create(transaction, entity, timestamp);
      if ('key' in result) {
        created += 1;
        const json = await transaction.read(this.#readSaved, [result.key]);
        answers.push({ status: 200, json: String(json) });
      } else {
        answers.push({ status: result.status, json: refusedEntity(result) });
      }
    }
    if (created > 0) await transaction.run(this.#raiseGlobalStamp, [created]);
    return answers;
  }

  /** Refuses a body as a whole before anything of it is stored. */
  #checked(entities: readonly unknown[]): readonly Body[] {
    const { batchSize } = this.context.limits;
    if (batchSize !== null && entities.length > batchSize) {
      throw refuse(
        'tooLarge',
        `The body has ${entities.length} entities; at most ${batchSize} are taken.`,
      );
    }
    for (const entity of entities) {
      if (typeof entity !== 'object' || entity === null || Array.isArray(entity)) {
        throw refuse('badBody', 'The body must be an entity as a JSON object, or a list of such.');
      }
      const { __KEY: key, __STAMP: stamp } = entity as Body;
      if (stamp === undefined || stamp === null) continue;
      if (key === undefined || key === null) {
        throw refuse('keyNotFound', 'An entity has a __STAMP, but no __KEY.');
      }
      throw refuse(
        'notBuilt',
        'Changing an entity that exists (__KEY with __STAMP) is not supported yet.',
      );
    }
    return entities as readonly Body[];
  }
}

function refusedEntity(result: Exclude<CreateResult, { readonly key: string | number }>): string {
  const { entityStatus, problems } = result;
  return JSON.stringify({
    __STATUS: { status: entityStatus, statusText: statusTexts[entityStatus], success: false },
    __ERROR: problems,
  });
}

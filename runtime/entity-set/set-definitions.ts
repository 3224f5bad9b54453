import { sql } from 'kysely';
import type { Database } from '../dialect/database.js';
import { type Pending, whenThere } from '../dialect/pending.js';
import { Slot, type Statement } from '../dialect/statement.js';
import type { FilterParams } from '../filter/params.js';
import { refuse } from '../protocol/errors.js';

/** What an entity set is made from again when it is gone (protocol section 10.4, decision 16). */
export interface SetDefinition {
  readonly filter?: string;
  readonly params?: FilterParams;
  readonly orderby?: string;
  /** The entities are those of a to-many relation of this entity. */
  readonly related?: {
    readonly dataclass: string;
    readonly key: string | number;
    readonly relation: string;
  };
}

/** Of users together, and of guests together. */
const maxDefinitions = 10_000;

/** A definition in so many looks for what is to be forgotten: that takes some milliseconds. */
const definitionsPerLook = 100;

/** Of one definition, as JSON. */
const maxDefinitionLength = 8 * 1024;

/**
 * The definitions that `$savedfilter=true` and `$savedorderby=true` keep in the database, where they outlive the server. When
 * there are too many, the oldest ones of the user who has most are forgotten. Guests, who are as many as they like, count apart.
 */
export class SetDefinitions {
  readonly #insert: Statement;
  readonly #forget: Statement;
  readonly #find: Statement;
  readonly #holder: Statement;

  constructor(private readonly database: Database) {
    const { dialect } = database;
    const slot = (index: number): ReturnType<typeof sql> => sql`${new Slot(index)}`;
    this.#insert = dialect.compile(
      sql`insert into "__entityset" ("id", "dataclass", "owner", "definition") values (${slot(0)}, ${slot(1)}, ${slot(2)}, ${slot(3)})`,
    );
    this.#forget = dialect.compile(sql`delete from "__entityset" where "position" in (
      select "position" from (
        select "position", row_number() over (
          partition by "owner" is null order by "ofOwner", "position" desc) as "place"
        from (select "position", "owner", row_number() over (
            partition by "owner" order by "position" desc) as "ofOwner"
          from "__entityset") as "counted") as "placed"
      where "place" > ${slot(0)})`);
    this.#find = dialect.compile(
      sql`select "definition" from "__entityset" where "id" = ${slot(0)} and "dataclass" = ${slot(1)} and ${dialect.isSame(sql`"owner"`, slot(2))}`,
    );
    this.#holder = dialect.compile(
      sql`select case when "dataclass" = ${slot(1)} and ${dialect.isSame(sql`"owner"`, slot(2))} then 1 else 0 end from "__entityset" where "id" = ${slot(0)}`,
    );
  }

  /**
   * Keeps a definition.
   * @param owner the keeper of its asker, who alone finds it; guests find those without one
   * @throws RequestError 400 when it is too long
   */
  async keep(
    id: string,
    dataclass: string,
    owner: string | undefined,
    definition: SetDefinition,
  ): Promise<void> {
    const json = definitionJson(definition);
    await this.database.executor.write(async (transaction) => {
      const { insertedKey } = await transaction.run(this.#insert, [
        id,
        dataclass,
        owner ?? null,
        json,
      ]);
      if (insertedKey % definitionsPerLook === 0) {
        await transaction.run(this.#forget, [maxDefinitions]);
      }
    });
  }

  find(
    id: string,
    dataclass: string,
    owner: string | undefined,
  ): Pending<SetDefinition | undefined> {
    const values = [id, dataclass, owner ?? null];
    return whenThere(this.database.executor.value(this.#find, values), (json) =>
      json === undefined ? undefined : (JSON.parse(String(json)) as SetDefinition),
    );
  }

  /** Whether a definition that is kept holds an ID for another keeper, or for another dataclass. */
  isHeldByAnother(id: string, dataclass: string, owner: string | undefined): Pending<boolean> {
    const values = [id, dataclass, owner ?? null];
    return whenThere(
      this.database.executor.value(this.#holder, values),
      (isOwn) => isOwn !== undefined && Number(isOwn) === 0,
    );
  }
}

/**
 * A definition as it is kept.
 * @throws RequestError 400 when it is too long, or its parameters are nested too deeply to be written
 */
export function definitionJson(definition: SetDefinition): string {
  const json = written(definition);
  if (json.length <= maxDefinitionLength) return json;
  throw refuse(
    'invalidQuery',
    `A definition that is kept has at most ${maxDefinitionLength} characters, with its parameters; this one has ${json.length}.`,
  );
}

/** JavaScript reads lists in lists deeper than it writes them. */
function written(definition: SetDefinition): string {
  try {
    return JSON.stringify(definition);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw refuse('invalidQuery', 'The parameters of a definition that is kept nest too deeply.');
  }
}

import { hash, randomBytes } from 'node:crypto';
import type { Database } from '../dialect/database.js';
import type { JsonAnswer } from '../dialect/executor.js';
import type { SqlValue, Statement } from '../dialect/statement.js';
import { tagSlot } from './selection.js';
import type { StatementCache } from './statement-cache.js';

/** An answer with its entity tag (protocol P1.13). */
export class TaggedAnswer {
  /** @param json `undefined` if the client has the answer */
  constructor(
    readonly tag: string,
    readonly json: JsonAnswer | undefined,
  ) {}
}

/** A read that is answered with a tag, or with 304. */
export interface TaggedRead {
  /** The path and the parameters of the request. */
  readonly address: string;
  /** The tags of answers that the client has. */
  readonly known: string;
}

/** The only row of an answer, with the JSON in the first column; empty if there is no answer. */
export type AnswerRow = readonly SqlValue[];

/** An answer that was not read yet. */
export interface PreparedAnswer {
  readonly statement: Statement;
  readonly values: SqlValue[];
  /** Whether class code decided what is read: it may decide otherwise the next time. */
  readonly isOfCode: boolean;
  readonly row: () => Promise<AnswerRow>;
}

export async function jsonOf({ row }: PreparedAnswer): Promise<JsonAnswer | undefined> {
  const [json] = await row();
  return (json ?? undefined) as JsonAnswer | undefined;
}

/** The row of a statement. */
export async function answerRow(
  { dialect, executor }: Database,
  statement: Statement,
  values: readonly SqlValue[],
): Promise<AnswerRow> {
  if (dialect.tagged === undefined && statement.hasPosition !== true) {
    const json = await executor.read(statement, values);
    return json === undefined ? [] : [json];
  }
  const [row = []] = await executor.rows(statement, values);
  return row;
}

/** Tells what restricts a statement in the current scope. */
export interface RestrictionKeys {
  keyOf(statement: Statement): Promise<readonly SqlValue[]>;
}

/**
 * The entity tags of answers. A tag holds the version of the data, and all else that decides an answer: the address,
 * what the scope may see, and what `restrict` hides.
 *
 * On PostgreSQL the statement of the answer compares the version, and returns it: both belong to the same moment.
 * Elsewhere the executor knows the version, and the statement does not run if the client has the answer.
 */
export class Tags {
  /** Other servers count other versions, and may have other settings and class code. */
  readonly #own = randomBytes(9).toString('base64url');

  /**
   * @param statements of the model, whose `visible` is the same for scopes that see the same
   * @param restrictions none without `restrict`
   */
  constructor(
    private readonly database: Database,
    private readonly statements: Pick<StatementCache, 'visible'>,
    private readonly restrictions?: RestrictionKeys,
  ) {}

  /**
   * @returns an answer without a tag if class code has a part in it; `undefined` if there is no answer
   */
  async read(
    { address, known }: TaggedRead,
    answer: PreparedAnswer,
  ): Promise<TaggedAnswer | JsonAnswer | undefined> {
    const { statement, values, isOfCode } = answer;
    if (isOfCode || statement.isTagged !== true) return jsonOf(answer);
    const { dialect, executor } = this.database;
    const restricted = await this.#restricted(statement);
    const scope = `${this.#own}.${digest(`${this.statements.visible}\n${address}\n${restricted}`)}.`;
    if (dialect.tagged !== undefined) {
      const given = versionIn(known, scope) ?? null;
      values[tagSlot.index] = given;
      const row = await answer.row();
      const [json = null, version = null] = [row[0] as JsonAnswer | null | undefined, row.at(-1)];
      const isKnown = version !== null && version === given;
      if (json === null && !isKnown) return undefined;
      return new TaggedAnswer(tagOf(scope, version), json ?? undefined);
    }
    // Read before the answer, so that no tag is given for data that came later.
    const version = executor.dataVersion();
    const tag = tagOf(scope, version ?? null);
    if (versionIn(known, scope) === String(version)) return new TaggedAnswer(tag, undefined);
    const json = await jsonOf(answer);
    return json && new TaggedAnswer(tag, json);
  }

  async #restricted(statement: Statement): Promise<string> {
    const { restrictions } = this;
    if (restrictions === undefined || statement.restricted === undefined) return '';
    return nameOfValues(await restrictions.keyOf(statement));
  }
}

/** The tag of an answer that costs as much to read as a version would. */
export function taggedByContent(
  { known }: Pick<TaggedRead, 'known'>,
  json: JsonAnswer,
): TaggedAnswer {
  const tag = `W/"${digest(json)}"`;
  return new TaggedAnswer(tag, known !== '' && known.includes(tag) ? undefined : json);
}

/** Weak, as `If-Match` names the stamp of an entity. */
function tagOf(scope: string, version: SqlValue): string {
  return `W/"${scope}${String(version)}"`;
}

/** The version in the client's tag of a scope. */
function versionIn(known: string, scope: string): string | undefined {
  if (known === '') return undefined;
  const start = `"${scope}`;
  const at = known.indexOf(start);
  if (at === -1) return undefined;
  const end = known.indexOf('"', at + start.length);
  return end === -1 ? undefined : known.slice(at + start.length, end);
}

/** 128 bits. */
function digest(content: JsonAnswer): string {
  return hash('sha256', content, 'base64url').slice(0, 22);
}

/** Equal for equal values only. */
export function nameOfValues(values: readonly unknown[]): string {
  // Without a filter.
  if (values.length === 1 && values[0] === null) return '[null]';
  const isInfinite = values.includes(Infinity) || values.includes(-Infinity);
  return JSON.stringify(isInfinite ? values.map(withoutInfinity) : values);
}

/** `1e999` in a filter is infinite, and JSON would write it as null. */
function withoutInfinity(value: unknown): unknown {
  return value === Infinity || value === -Infinity ? [String(value)] : value;
}

import { sql } from 'kysely';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Dialect } from '../dialect/dialect.js';
import type { Transaction } from '../dialect/executor.js';
import type { Statement } from '../dialect/statement.js';
import { denied } from '../protocol/denial.js';
import { deletionList, listedKeys, startList } from './delete-statements.js';

/** Keeps entities whose values the session may not drop: with an entity, its values go (protocol section 17.3). */
export class Undroppable {
  readonly #found: Statement | undefined;

  constructor(
    dialect: Dialect,
    private readonly dataclass: Dataclass,
  ) {
    const { attributes, key, permissions, table } = dataclass;
    const held = attributes.flatMap((each) =>
      each.kind === 'storage' && permissions?.notDropped.has(each.name) === true
        ? [sql`${sql.id('held', each.column)} is not null`]
        : [],
    );
    if (held.length === 0) return;
    const listed = listedKeys(dialect, deletionList, startList, dataclass);
    this.#found = dialect.compile(
      sql`select 1 from ${sql.id(table)} as "held" where ${sql.id('held', key.column)} in (${listed}) and (${sql.join(held, sql` or `)}) limit 1`,
    );
  }

  /**
   * Looks at the entities that are listed to be deleted.
   * @throws RequestError 401 or 403 with 1559 when one of them has a value that must stay
   */
  async refuse(transaction: Transaction): Promise<void> {
    const { name, permissions } = this.dataclass;
    if (this.#found === undefined || permissions === undefined) return;
    if ((await transaction.value(this.#found, [])) === undefined) return;
    throw denied(
      'drop',
      `values that entities of the "${name}" dataclass hold`,
      permissions.status,
    );
  }
}

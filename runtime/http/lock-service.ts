import {
  holderOfSession,
  type Lock,
  type LockHolder,
  type LockTable,
  TooManyLocksError,
} from '../access/locks.js';
import type { Session } from '../access/session.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Database } from '../dialect/database.js';
import { lockStatus } from '../write/answers.js';
import { waitForWriters } from '../write/statements.js';
import { protocolError, RequestError } from '../protocol/errors.js';
import { readParameters } from '../query/parameters.js';
import type { EntityReader } from '../query/entity-reader.js';
import { missingEntity } from './reply.js';

const locked = '{"result":true,"__STATUS":{"success":true}}';
const bare = readParameters({}, 'read');

/** Answers `$lock=true` and `$lock=false` of one dataclass's entities (protocol P12.1, P12.2). */
export class LockService {
  constructor(
    private readonly locks: LockTable,
    private readonly dataclass: Dataclass,
    private readonly entities: EntityReader,
    private readonly database: Pick<Database, 'dialect' | 'executor'>,
  ) {}

  /**
   * @returns JSON that says whether the lock is the session's now, or nobody's; else who holds it
   * @throws RequestError 404 with 1543 for an entity that the session cannot read, 429 if it holds
   * too many locks
   */
  async answer(session: Session, key: string | number, wanted: boolean): Promise<string> {
    const { key: attribute, name } = this.dataclass;
    const found = await this.entities.read(attribute, key, bare, undefined);
    if (found === undefined) throw missingEntity(name);
    const result = wanted
      ? await this.#lock(session, key)
      : await this.locks.unlock(name, key, session.id);
    return result === true
      ? locked
      : JSON.stringify({ result: false, __STATUS: lockStatus(result) });
  }

  async #lock(session: Session, key: string | number): Promise<true | Lock> {
    const { name } = this.dataclass;
    const held = await this.locks.holderOf(name, key);
    // A guest needs no session to learn that another one holds the lock.
    if (held !== undefined && held.session !== session.id) return held;
    try {
      const holder = holderOfSession(session);
      const locked = await this.locks.lock(name, key, holder);
      if (locked === true) await this.#waitForOthers(holder, key, held !== undefined);
      return locked;
    } catch (error) {
      if (!(error instanceof TooManyLocksError)) throw error;
      throw new RequestError(429, [protocolError('quotaExceeded', error.message)], {
        'retry-after': '',
      });
    }
  }

  /** Changes of the entity that are running end before the client learns of its lock. */
  async #waitForOthers(
    { session }: LockHolder,
    key: string | number,
    wasHeld: boolean,
  ): Promise<void> {
    const { dialect, executor } = this.database;
    try {
      await executor.write((transaction) =>
        waitForWriters(transaction, dialect, this.dataclass, key),
      );
    } catch (error) {
      if (!wasHeld) await this.locks.unlock(this.dataclass.name, key, session);
      throw error;
    }
  }
}

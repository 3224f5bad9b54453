import { createHash } from 'node:crypto';
import type { StateDatabase } from '../dialect/state-database.js';
import {
  type Attempt,
  type LoginFailures,
  memoryMilliseconds,
  mostRemembered,
  slowdowns,
} from './logins.js';

/** Waits double up to this power of two, which is longer than the longest wait. */
const mostDoublings = 10;

/**
 * Failed logins that all servers count together: one statement for an attempt. The rows are locked
 * in one order, users first.
 */
export class DatabaseFailures implements LoginFailures {
  readonly #begin: string;
  readonly #wait: string;
  readonly #takeBack: string;
  readonly #clear: string;
  readonly #endExpired: string;
  readonly #endOldest: string;

  constructor(private readonly state: StateDatabase) {
    const { now, skipLocked } = state;
    const isOver = `drs_state.failure.expires <= ${now}`;
    const count = `case when ${isOver} then 1 else drs_state.failure.count + 1 end`;
    const named = `((kind = 'address' and name = $1) or (kind = 'user' and name = $2))`;
    const ofUser = `drs_state.failure.kind = 'user'`;
    const free = `case when ${ofUser} then ${slowdowns.user.free} else ${slowdowns.address.free} end`;
    const longest = `case when ${ofUser} then ${slowdowns.user.longest} else ${slowdowns.address.longest} end`;
    const over = `(${count} - ${free} - 1)`;
    const doubled = `(1 << case when ${over} > ${mostDoublings} then ${mostDoublings} else ${over} end)`;
    const wait = `case when ${doubled} > ${longest} then ${longest} else ${doubled} end`;
    // 0 instead of the current time, because a simultaneous attempt may have an earlier time.
    const until = `case when ${over} < 0 then 0 else ${now} + 1000 * (${wait}) end`;
    // The second condition is checked on a row that is locked: of simultaneous attempts one waits.
    this.#begin = `insert into drs_state.failure (kind, name, count, until, expires)
      select kind, name, 1, 0, ${now} + ${memoryMilliseconds}
      from (select 1 as turn, 'user' as kind, cast($2 as text) as name
        union all select 2, 'address', cast($1 as text)) as attempt
      where not exists (select 1 from drs_state.failure where ${named} and until > ${now} and expires > ${now})
      order by turn
      on conflict (kind, name) do update set count = ${count}, until = ${until},
        expires = ${now} + ${memoryMilliseconds}
      where drs_state.failure.until <= ${now} or ${isOver}
      returning kind`;
    this.#wait = `select max(until - ${now}) from drs_state.failure where ${named} and expires > ${now}`;
    this.#takeBack = `update drs_state.failure set count = count - 1,
        until = case when count - 1 <= case when kind = 'user' then ${slowdowns.user.free} else ${slowdowns.address.free} end
          then 0 else until end
      where kind = $1 and name = $2 and expires > ${now}`;
    this.#clear = `delete from drs_state.failure where kind = 'user' and name = $1`;
    this.#endExpired = `delete from drs_state.failure where (kind, name) in (select kind, name from drs_state.failure
      where expires <= ${now} or count <= 0 limit 1000${skipLocked})`;
    this.#endOldest = `delete from drs_state.failure where (kind, name) in (select kind, name from drs_state.failure
      where kind = $1 and expires <= (select expires from drs_state.failure where kind = $1
        order by expires desc limit 1 offset ${mostRemembered}) limit 1000${skipLocked})`;
  }

  async begin(attempt: Attempt): Promise<number> {
    const [address, user] = namesOf(attempt);
    const counted = await this.state.run([this.#begin, address, user]);
    if (counted.length === 2) return 0;
    for (const [kind] of counted) {
      const name = kind === 'user' ? user : address;
      await this.state.run([this.#takeBack, String(kind), name]);
    }
    const [row] = await this.state.run([this.#wait, address, user]);
    return Math.max(1, Math.ceil(Number(row?.[0] ?? 0) / 1000));
  }

  async takeBack(attempt: Attempt): Promise<void> {
    const [address, user] = namesOf(attempt);
    await this.state.run([this.#takeBack, 'user', user], [this.#takeBack, 'address', address]);
  }

  async succeeded(attempt: Attempt): Promise<void> {
    const [address, user] = namesOf(attempt);
    await this.state.run([this.#clear, user], [this.#takeBack, 'address', address]);
  }

  async tick(): Promise<void> {
    await this.state.run(
      [this.#endExpired],
      [this.#endOldest, 'user'],
      [this.#endOldest, 'address'],
    );
  }
}

/** Names of any length: an index takes some kilobytes at most. */
function namesOf({ address, user }: Attempt): readonly [address: string, user: string] {
  return [hashOf(address), hashOf(user)];
}

function hashOf(name: string): string {
  return createHash('sha256').update(name).digest('base64');
}

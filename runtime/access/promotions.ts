import type { Pending } from '../dialect/pending.js';
import type { Call, Calls } from './call.js';
import { listOf } from './grants.js';
import { PromotedSession } from './promoted-session.js';
import { foldName, type PrivilegeTable, type Session } from './session.js';

/** Runs class code with more privileges than its session holds (protocol section 17.6). */
export class Promotions {
  constructor(
    private readonly calls: Calls,
    private readonly table: PrivilegeTable,
  ) {}

  /**
   * What the code that asks holds already, by another promotion too, it goes on to hold.
   * @param asking the session of code that belongs to no call
   * @throws Error for a privilege that is not declared
   */
  run<T>(
    privileges: string | readonly string[],
    work: () => Pending<T>,
    asking: Session,
  ): Pending<T> {
    const names = listOf(privileges).filter((name) => foldName(name) !== 'guest');
    for (const name of names) {
      if (this.table.resolve([name], []).size > 0) continue;
      throw new Error(`Code is promoted by privileges of the model, and it has no "${name}".`);
    }
    const { isOutside } = this.calls;
    const { session: own, isServer } = isOutside ? call(asking) : this.calls.current();
    const session = new PromotedSession(own, [...this.table.resolve(names, [])]);
    // What restricts the session may ask for its privileges.
    const restrictions = isServer === true ? undefined : this.calls.restrictions?.of(session);
    return isOutside
      ? this.calls.run({ session, restrictions }, work)
      : this.calls.with({ session, restrictions }, work);
  }
}

function call(session: Session): Call {
  return { session };
}

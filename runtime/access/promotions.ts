import type { Calls } from './call.js';
import { listOf } from './grants.js';
import { PromotedSession } from './promoted-session.js';
import { foldName, type PrivilegeTable } from './session.js';

/** Runs class code with more privileges than its session holds (protocol section 17.6). */
export class Promotions {
  constructor(
    private readonly calls: Calls,
    private readonly table: PrivilegeTable,
  ) {}

  /**
   * What the code that asks holds already, by another promotion too, it goes on to hold.
   * @throws Error for a privilege that is not declared
   */
  run<T>(privileges: string | readonly string[], work: () => T): T {
    const names = listOf(privileges).filter((name) => foldName(name) !== 'guest');
    for (const name of names) {
      if (this.table.resolve([name], []).size > 0) continue;
      throw new Error(`Code is promoted by privileges of the model, and it has no "${name}".`);
    }
    const { session } = this.calls.current();
    const added = [...this.table.resolve(names, [])];
    return this.calls.with({ session: new PromotedSession(session, added) }, work);
  }
}

import { BoundedCache, type Cache } from '../dialect/bounded-cache.js';
import type { Statement } from '../dialect/statement.js';
import { FilterSlots } from '../filter/slots.js';
import type { SelectionPlan } from './selection.js';

/** Bytes of all plans of a server. */
const maxPlanBytes = 32 * 1024 * 1024;

/**
 * The recently written statements for sessions that see the same. A server has one cache of plans: their names begin
 * with what is visible, so that no session gets a plan that shows more.
 */
export class Plans {
  /** Plans that bind no filter: of single entities, of changes, and with resolved restrictions. */
  readonly statements: Cache<Statement> = {
    get: (name) => this.get(name)?.statement,
    set: (name, statement) => {
      this.set(name, { statement, filterSlots: noSlots });
    },
  };

  /** @param visible a text that is the same for sessions that see the same; empty for the whole model */
  constructor(
    readonly visible = '',
    private readonly cache = new BoundedCache(maxPlanBytes, weightOf),
  ) {}

  /** The plans for sessions that see something else. */
  of(visible: string): Plans {
    return new Plans(visible, this.cache);
  }

  get(name: string): SelectionPlan | undefined {
    return this.cache.get(this.visible + name);
  }

  set(name: string, plan: SelectionPlan): void {
    this.cache.set(this.visible + name, plan);
  }
}

const noSlots = new FilterSlots(0);

function weightOf({ statement, ifTooLarge }: SelectionPlan): number {
  return bytesOf(statement) + (ifTooLarge === undefined ? 0 : bytesOf(ifTooLarge));
}

/** The texts of a restricted statement are kept for its completion. */
function bytesOf({ sql, bindings, restricted }: Statement): number {
  return sql.length * (restricted === undefined ? 1 : 2) + bindings.length * 16;
}

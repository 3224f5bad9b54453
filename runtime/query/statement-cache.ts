import { BoundedCache, type Cache } from '../dialect/bounded-cache.js';
import type { Statement } from '../dialect/statement.js';
import { FilterSlots } from '../filter/slots.js';
import type { SelectionStatement } from './selection.js';

/** Bytes of all statements of a server. */
const maxBytes = 32 * 1024 * 1024;

/**
 * The recently written statements for sessions that see the same. A server keeps all in one cache, whose names
 * begin with what is visible, so that no session gets a statement that shows more.
 */
export class StatementCache {
  /** Statements that bind no filter: of single entities, of changes, and with resolved restrictions. */
  readonly unfiltered: Cache<Statement> = {
    get: (name) => this.get(name)?.statement,
    set: (name, statement) => {
      this.set(name, { statement, filterSlots: noSlots });
    },
  };

  /** @param visibleNow a text that is the same for scopes that see the same; empty for the whole model */
  constructor(
    private readonly visibleNow: () => string = () => '',
    private readonly cache = new BoundedCache(maxBytes, weightOf),
  ) {}

  /** The statements of scopes that do not see all. */
  of(visibleNow: () => string): StatementCache {
    return new StatementCache(visibleNow, this.cache);
  }

  get visible(): string {
    return this.visibleNow();
  }

  get(name: string): SelectionStatement | undefined {
    return this.cache.get(this.visible + name);
  }

  set(name: string, statement: SelectionStatement): void {
    this.cache.set(this.visible + name, statement);
  }
}

const noSlots = new FilterSlots(0);

function weightOf({ statement, ifTooLarge }: SelectionStatement): number {
  return bytesOf(statement) + (ifTooLarge === undefined ? 0 : bytesOf(ifTooLarge));
}

/** The texts of a restricted statement are kept for its completion. */
function bytesOf({ sql, bindings, restricted }: Statement): number {
  return sql.length * (restricted === undefined ? 1 : 2) + bindings.length * 16;
}

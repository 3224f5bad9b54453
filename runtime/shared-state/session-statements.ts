import { sessionColumns } from './shared-session.js';
import type { StateDatabase, StateStatement } from './state-database.js';

/** The statements of the session store. */
export class SessionStatements {
  readonly byToken: StateStatement;
  readonly byId: StateStatement;
  readonly living: StateStatement;
  readonly expired: StateStatement;
  readonly total: StateStatement;
  readonly guestsFrom: StateStatement;
  readonly wasReplaced: StateStatement;
  readonly add: StateStatement;
  readonly change: StateStatement;
  readonly use: StateStatement;
  readonly time: StateStatement;
  readonly remove: StateStatement;
  readonly replace: StateStatement;
  readonly forget: StateStatement;

  constructor(state: StateDatabase) {
    const select = `select ${sessionColumns} from "session"`;
    this.byToken = state.prepare(`${select} where "token" = ?`);
    this.byId = state.prepare(`${select} where "id" = ?`);
    this.living = state.prepare(`${select} where "expires" > ?`);
    this.expired = state.prepare('select "id" from "session" where "expires" <= ?');
    this.total = state.prepare('select "value" from "total" where "name" = ?');
    this.guestsFrom = state.prepare(
      'select count(*) from "session" where "network" = ? and "isGuest" = 1',
    );
    this.wasReplaced = state.prepare('select 1 from "replaced" where "session" = ?');
    this.add = state.prepare(
      'insert into "session" values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    );
    this.change = state.prepare(
      `update "session" set "token" = ?, "userName" = ?, "privileges" = ?, "quotas" = ?, "isGuest" = ?
       where "id" = ?`,
    );
    this.use = state.prepare('update "session" set "refreshed" = ?, "expires" = ? where "id" = ?');
    this.time = state.prepare('update "session" set "idleTimeout" = ? where "id" = ?');
    this.remove = state.prepare('delete from "session" where "id" = ?');
    this.replace = state.prepare('insert or replace into "replaced" values (?, ?)');
    this.forget = state.prepare('delete from "replaced" where "expires" <= ?');
  }
}

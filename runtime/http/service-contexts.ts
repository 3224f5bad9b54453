import type { Calls } from '../access/call.js';
import type { ClassHost } from '../class/class-host.js';
import type { Database } from '../dialect/database.js';
import { EntitySets } from '../entity-set/entity-sets.js';
import { SetDefinitions } from '../entity-set/set-definitions.js';
import { FilterParser } from '../filter/prepared-filter.js';
import { Counts } from '../query/counts.js';
import type { Plans } from '../query/reading-context.js';
import type { ErrorTeller } from './errors.js';
import type { RequestSessions } from './request-sessions.js';
import type { ServedClasses } from './served-classes.js';
import type { ServedMedia } from './served-media.js';
import type { ServerStores } from './server-stores.js';
import type { ServiceContext } from './service-context.js';
import type { Limits, Settings } from './settings.js';

/** What the contexts of a server are made from. */
interface ContextParts {
  readonly settings: Settings;
  readonly limits: Limits;
  readonly database: Database;
  readonly stores: ServerStores;
  /** None for a model without images and BLOBs. */
  readonly media: ServedMedia | undefined;
  readonly sessions: RequestSessions;
  readonly tellError: ErrorTeller;
  /** None without class code. */
  readonly code: ServedClasses | undefined;
  /** On whose behalf it runs. */
  readonly calls: Calls;
  /** Class code, which is made later: called when a request comes. */
  readonly hostOf: () => ClassHost | undefined;
}

/** Makes what the services of a whole model share, or those of a view. */
export type MakeContext = (linked: ServiceContext['dataclasses'], plans: Plans) => ServiceContext;

/** What differs by view is made for each; the rest is one for the server. */
export function serviceContexts(parts: ContextParts): MakeContext {
  const { settings, limits, database, stores, media, sessions, tellError } = parts;
  const { code, calls, hostOf } = parts;
  const { dateOnlyFormat, reportFormat } = settings;
  const options = { pageSize: limits.pageSize, dateOnlyFormat, reportFormat };
  const kept = new SetDefinitions(database);
  const filters = new FilterParser(limits, settings);
  const computed = code?.computed?.requests(hostOf);
  const restricting = code?.restricting;
  const taken = restricting?.taken;
  // If neither events nor accessors run and nothing is restricted, reads and writes of clients need
  // no call.
  const asksForCalls =
    computed !== undefined || restricting !== undefined || code?.lifecycle !== undefined;
  return (linked, plans) => {
    const counts = new Counts(database, options, plans.selections, taken);
    const reading = { database, limits, options, filters, plans, counts, computed };
    return {
      ...reading,
      dataclasses: linked,
      sets: new EntitySets(reading, linked, stores.sets, kept, limits),
      media,
      sessions,
      locks: stores.locks,
      tellError,
      calls: asksForCalls ? calls : undefined,
      lifecycle: () => hostOf()?.lifecycle,
    };
  };
}

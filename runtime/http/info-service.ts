import type { FastifyInstance } from 'fastify';
import type { RequestSession } from '../access/request-session.js';
import type { SessionRecord } from '../access/session-store.js';
import type { EntitySetStore, ListedSet } from '../entity-set/entity-set-store.js';
import { getAndPost } from './get-and-post.js';
import { readingParameters } from './reading-parameters.js';
import { sendJson } from './reply.js';
import type { RequestSessions } from './request-sessions.js';

/** The privilege that opens what belongs to others (protocol, list b, b36). */
const administration = 'WebAdmin';

/** `GET|POST /rest/$info`: the session's own entity sets, lifetime and privileges (protocol section 16.8). */
export function registerInfo(
  app: FastifyInstance,
  sessions: RequestSessions,
  store: EntitySetStore,
  { entitySetMemory }: { readonly entitySetMemory: number },
): void {
  getAndPost(app, '/rest/$info', async (request, reply) => {
    readingParameters(request);
    const session = await sessions.of(request, reply);
    const seesAll = session.hasPrivilege(administration);
    const sets = await setsOf(session, store, seesAll);
    const records = await (seesAll ? sessions.sessions.list() : [session.record ?? []].flat());
    const info = {
      cacheSize: entitySetMemory,
      usedCache: sets.reduce((sum, { keys }) => sum + keys.byteLength, 0),
      entitySetCount: sets.length,
      entitySet: sets.map(setInfo),
      ProgressInfo: [],
      sessionInfo: records.map(sessionInfo),
      privileges: { privileges: [...session.privileges].map((privilege) => ({ privilege })) },
    };
    return sendJson(reply, JSON.stringify(info));
  });
}

async function setsOf(
  { id }: RequestSession,
  store: EntitySetStore,
  seesAll: boolean,
): Promise<readonly ListedSet[]> {
  if (seesAll) return store.list();
  return id === undefined ? [] : store.listOf(id);
}

function setInfo({ id, dataclass, keys, isSorted, refreshed, expires }: ListedSet): object {
  return {
    id,
    dataClass: dataclass,
    tableName: dataclass,
    selectionSize: keys.length,
    sorted: isSorted,
    refreshed: iso(refreshed),
    expires: iso(expires),
  };
}

function sessionInfo({ id, userName, idleTimeout, expires }: SessionRecord): object {
  return { sessionID: id, userName, lifeTime: idleTimeout, expiration: iso(expires) };
}

function iso(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

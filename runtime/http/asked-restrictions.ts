import {
  type AskedFilter,
  type AskRestriction,
  RestrictionError,
  Restrictions,
} from '../class-code/restrictions.js';
import type { SessionRestrictions } from '../access/call.js';
import type { Session } from '../access/session.js';
import type { ClassHost } from '../class/class-host.js';
import { paramsOf } from '../class/selection-values.js';
import { failureOf } from '../class/failure.js';

/** Asks the users' dataclass classes which entities a session may see. */
export function restrictingBy(host: ClassHost): SessionRestrictions {
  const { calls, context } = host;
  const { dataclasses, database, filters } = context;
  const { dialect } = database;
  const restrictions = new Restrictions(dataclasses, dialect, filters, asked(host));
  calls.restrictions = restrictions;
  return restrictions;
}

/** `restrict` runs as the server itself: what it reads is not restricted. */
function asked(host: ClassHost): AskRestriction {
  return (dataclass, session) => {
    const { instance } = host.codeOf(dataclass);
    const failed = (thrown: unknown): never => {
      throw failureOf(`${dataclass}.restrict`, thrown);
    };
    let returned: unknown;
    try {
      const ask = restrictOf(dataclass, instance);
      // A database with one connection has no other reads while a transaction is open.
      returned = host.calls.asServerWithin(() => ask(session));
    } catch (thrown) {
      return failed(thrown);
    }
    if (!isThenable(returned)) return askedFilter(dataclass, returned);
    return Promise.resolve(returned)
      .catch(failed)
      .then((each) => askedFilter(dataclass, each));
  };
}

function restrictOf(dataclass: string, instance: object): (session: Session) => unknown {
  if (!('restrict' in instance) || typeof instance.restrict !== 'function') {
    throw new Error(`The class ${dataclass} has no restrict(session).`);
  }
  return instance.restrict.bind(instance) as (session: Session) => unknown;
}

/** Nothing but null opens all entities: a function that forgets to return something does not. */
function askedFilter(dataclass: string, returned: unknown): AskedFilter {
  if (returned === null) return null;
  if (typeof returned === 'string') return { text: returned, params: undefined };
  try {
    const { filter, values } = parts(returned);
    return { text: filter, params: paramsOf(values) };
  } catch (error) {
    throw new RestrictionError(dataclass, error);
  }
}

function parts(returned: unknown): {
  readonly filter: string;
  readonly values: readonly unknown[];
} {
  if (typeof returned === 'object' && returned !== null && 'filter' in returned) {
    const { filter } = returned;
    const values = 'values' in returned ? (returned.values ?? []) : [];
    if (typeof filter === 'string' && Array.isArray(values)) return { filter, values };
  }
  throw new Error('expected a filter, { filter, values } with a list of values, or null');
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value;
}

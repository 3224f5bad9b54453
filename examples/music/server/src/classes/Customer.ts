import { CustomerBase, type Restriction, type Session } from '../generated/api.js';

export class Customer extends CustomerBase {
  /** An agent sees the own customers only. */
  restrict(session: Session): Restriction {
    if (session.hasPrivilege('manage')) return null;
    return { filter: 'agent.login = :1', values: [session.userName] };
  }
}

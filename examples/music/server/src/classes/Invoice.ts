import { InvoiceBase, type Restriction, type Session } from '../generated/api.js';

export class Invoice extends InvoiceBase {
  /** An agent sees the own customers only. */
  restrict(session: Session): Restriction {
    if (session.hasPrivilege('manage')) return null;
    return { filter: 'customer.agent.login = :1', values: [session.userName] };
  }
}

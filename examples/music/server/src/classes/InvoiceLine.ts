import { InvoiceLineBase, type Restriction, type Session } from '../generated/api.js';

export class InvoiceLine extends InvoiceLineBase {
  /** An agent sees the own customers only. */
  restrict(session: Session): Restriction {
    if (session.hasPrivilege('manage')) return null;
    return { filter: 'invoice.customer.agent.login = :1', values: [session.userName] };
  }
}

// Copies the invoices until there are so many lines: node dist/src/scripts/multiply.js 1000000
// SQL stores what rules and events have made of the first ones, a million lines within a minute.
import { sql } from 'kysely';
import { buildApp } from '../generated/app.js';

const wanted = Number(process.argv[2]);
const app = buildApp();
await app.ready();
try {
  const { datastore } = app;
  const [invoices, lines, tracks] = await Promise.all([
    datastore.Invoice.all().count(),
    datastore.InvoiceLine.all().count(),
    datastore.Track.all().count(),
  ]);
  for (let round = 1; round * lines < wanted; round += 1) {
    const last = Math.min(lines, wanted - round * lines);
    await datastore.transaction(async () => {
      // Customers with a lower number came earlier, so they could buy on this day, too.
      await sql`
        insert into "Invoice" ("ID", "__TIMESTAMP", "date", "state", "customer_id")
        select "ID" + ${round * invoices}, "__TIMESTAMP", "date", "state", 1 + ${round * 31} % "customer_id"
        from "Invoice"
        where "ID" <= (select "invoice_id" from "InvoiceLine" where "ID" = ${last})
      `.execute(datastore.kysely);
      await sql`
        insert into "InvoiceLine"
          ("ID", "__TIMESTAMP", "invoice_id", "track_id", "unitPrice", "quantity", "amount")
        select line."ID" + ${round * lines}, line."__TIMESTAMP", line."invoice_id" + ${round * invoices},
          track."ID", track."price", line."quantity", track."price" * line."quantity"
        from "InvoiceLine" line
        join "Track" track on track."ID" = 1 + (line."track_id" + ${round % 5}) % ${tracks}
        where line."ID" <= ${last}
      `.execute(datastore.kysely);
    });
    if (round % 13 === 0) {
      process.stderr.write(`${(round + 1) * lines} of ${wanted} invoice lines\n`);
    }
  }
} finally {
  await app.close();
}

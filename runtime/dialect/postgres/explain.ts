import type { TableSearch } from '../executor.js';
import type { Step } from './ask.js';
import { allRows, firstValue, plainStep, type PostgresConnection } from './connection.js';
import { readOnly } from './read-only.js';

/** A step of PostgreSQL's plan, as `explain (format json)` tells it. */
export interface PlanNode {
  readonly Alias?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Plans?: readonly PlanNode[];
}

/** A column of an index. */
export interface IndexColumn {
  readonly index: string;
  readonly isPrimary: boolean;
  readonly name: string;
  /** As conditions are told: in quotes where it needs them. */
  readonly shown: string;
}

const indexColumns = `select i.relname, x.indisprimary, a.attname, quote_ident(a.attname)
from pg_index x
join pg_class i on i.oid = x.indexrelid
cross join unnest(x.indkey) with ordinality as k (number, position)
join pg_attribute a on a.attrelid = x.indrelid and a.attnum = k.number
where i.relnamespace = quote_ident(current_schema())::regnamespace and k.position <= x.indnkeyatts
  and i.relname in (select json_array_elements_text($1::json))`;

/** A table of some pages is read as a whole, whatever indexes it has: while a program is written, tables have some pages. */
const asIfLarge = plainStep('set local enable_seqscan = off');

/** Asks PostgreSQL how it would run a statement if the tables were large. */
export async function explained(
  connection: PostgresConnection,
  { text, values }: Step,
): Promise<readonly TableSearch[]> {
  const answer = await readOnly(connection, [
    asIfLarge,
    { text: `explain (format json) ${text}`, values },
  ]);
  const [{ Plan: root }] = JSON.parse(String(firstValue(answer))) as [{ readonly Plan: PlanNode }];
  const indexes = JSON.stringify(allNodes(root).flatMap((node) => node['Index Name'] ?? []));
  const found = await connection.run([{ text: indexColumns, values: [indexes] }], 0);
  const columns = allRows(found).map(([index, isPrimary, name, shown]) => ({
    index: String(index),
    isPrimary: isPrimary === 1,
    name: String(name),
    shown: String(shown),
  }));
  return tableSearches(root, columns);
}

/** The tables that a plan reads. A table read by a bitmap has the indexes in steps below its own. */
export function tableSearches(root: PlanNode, columns: readonly IndexColumn[]): TableSearch[] {
  return allNodes(root).flatMap((node) => {
    const alias = node.Alias;
    if (alias === undefined) return [];
    const indexed = [node, ...bitmapsOf(node)];
    const used = indexed.flatMap((each) => usedColumns(each, columns));
    return {
      alias,
      columns: used.map(({ name }) => name),
      byKey: used.some(({ isPrimary }) => isPrimary),
    };
  });
}

function allNodes(node: PlanNode): readonly PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(allNodes)];
}

function bitmapsOf(node: PlanNode): readonly PlanNode[] {
  const below = (node.Plans ?? []).filter((each) => each.Alias === undefined);
  return below.flatMap((each) => [each, ...bitmapsOf(each)]);
}

/** Columns of a step's index that its condition speaks of; those of other tables have an alias before them. */
function usedColumns(node: PlanNode, columns: readonly IndexColumn[]): readonly IndexColumn[] {
  const condition = (node['Index Cond'] ?? '').replaceAll(/'(?:[^']|'')*'/g, "''");
  const words = new Set(condition.match(/(?:"(?:[^"]|"")*"|[\p{L}\p{N}_$.])+/gu) ?? []);
  return columns.filter(({ index, shown }) => index === node['Index Name'] && words.has(shown));
}

import { booleanOf, child, itemsOf, numberOf, textOf } from '../source/tree.js';
import { limitRules } from '../source/limits.js';
import { datastorePattern, reportFormatPattern } from '../source/schema/json-schema.js';
import { databases, dateOnlyFormats, isOneOf } from '../source/vocabulary.js';
import type { Database, Limits, Model, ProtocolOptions } from '../model/model.js';
import type { SourceNode } from '../source/tree.js';
import type { Context } from './context.js';

type Settings = Pick<
  Model,
  'name' | 'description' | 'databases' | 'reportFormat' | 'limits' | 'protocol'
>;

/** What the file says about the server as a whole, with the defaults for what it does not say. */
export function settings(context: Context, root: SourceNode): Settings {
  const description = textOf(child(root, 'description'));
  return {
    name: matching(context, child(root, 'name'), 'name/datastore', datastorePattern) ?? '',
    ...(description === undefined ? {} : { description }),
    databases: databasesOf(child(root, 'database')),
    reportFormat:
      matching(context, child(root, 'reportFormat'), 'name/report-format', reportFormatPattern) ??
      'looker',
    limits: limits(context, child(root, 'limits')),
    protocol: protocol(child(root, 'protocol')),
  };
}

function matching(
  { report }: Context,
  node: SourceNode | undefined,
  code: 'name/datastore' | 'name/report-format',
  pattern: string,
): string | undefined {
  const name = textOf(node);
  if (node !== undefined && name !== undefined && !new RegExp(pattern, 'u').test(name)) {
    report(code, { name: JSON.stringify(name) }, node);
  }
  return name;
}

function databasesOf(node: SourceNode | undefined): readonly Database[] {
  const listed = node?.kind === 'list' ? itemsOf(node).map(textOf) : [textOf(node)];
  const known = listed.filter((each) => isOneOf(databases, each));
  return known.length === 0 ? ['sqlite'] : known;
}

function protocol(node: SourceNode | undefined): ProtocolOptions {
  const format = textOf(child(node, 'dateOnlyFormat'));
  return {
    dateOnlyFormat: isOneOf(dateOnlyFormats, format) ? format : 'iso',
    accentInsensitive: booleanOf(child(node, 'accentInsensitive')) ?? false,
    wildcard: booleanOf(child(node, 'wildcard')) ?? false,
  };
}

function limits(context: Context, node: SourceNode | undefined): Limits {
  const entries = Object.entries(limitRules).map(([name, rule]) => [
    name,
    numberOf(child(node, name)) ?? rule.default,
  ]);
  // The rules have a row for each limit, and null is the default of those only that can be null.
  const found = Object.fromEntries(entries) as Limits;
  return {
    ...found,
    pageSize: within(context, node, found, 'pageSize', 'maxPageSize'),
    entitySetTimeout: within(context, node, found, 'entitySetTimeout', 'maxEntitySetTimeout'),
  };
}

/** What applies where a request says nothing must be something that a request could say. */
function within(
  { report }: Context,
  node: SourceNode | undefined,
  found: Limits,
  smaller: 'pageSize' | 'entitySetTimeout',
  larger: 'maxPageSize' | 'maxEntitySetTimeout',
): number {
  const [value, limit, at] = [found[smaller], found[larger], child(node, smaller)];
  if (limit === null || value <= limit) return value;
  if (at !== undefined) report('limits/order', { smaller, larger, value, limit }, at);
  return limit;
}

import { isOrigin } from '../../runtime/protocol/setting-kinds.js';
import { booleanOf, child, itemsOf, numberOf, textOf } from '../source/tree.js';
import { limitRules } from '../source/limits.js';
import { datastorePattern, reportFormatPattern } from '../source/schema/json-schema.js';
import { compatibilities, databases, dateOnlyFormats, isOneOf } from '../source/vocabulary.js';
import type { Database, Limits, Model, ProtocolOptions } from '../model/model.js';
import type { SourceNode } from '../source/tree.js';
import type { Context } from './context.js';

type Settings = Pick<
  Model,
  'name' | 'description' | 'databases' | 'reportFormat' | 'limits' | 'origins' | 'protocol'
>;

/** The settings of the server as a whole, with defaults for what the file leaves out. */
export function settings(context: Context, root: SourceNode): Settings {
  const description = textOf(child(root, 'description'));
  const origins = originsOf(context, child(root, 'origins'));
  return {
    name: matching(context, child(root, 'name'), 'name/datastore', datastorePattern) ?? '',
    ...(description === undefined ? {} : { description }),
    databases: databasesOf(child(root, 'database')),
    reportFormat:
      matching(context, child(root, 'reportFormat'), 'name/report-format', reportFormatPattern) ??
      'looker',
    limits: limits(context, child(root, 'limits')),
    ...(origins.length === 0 ? {} : { origins }),
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

function originsOf({ report }: Context, node: SourceNode | undefined): readonly string[] {
  const nodes = node?.kind === 'list' ? itemsOf(node) : [];
  return nodes.flatMap((each) => {
    const origin = textOf(each);
    if (origin === undefined) return [];
    if (!isOrigin(origin)) report('origin/bad-origin', { origin: JSON.stringify(origin) }, each);
    return [origin];
  });
}

function databasesOf(node: SourceNode | undefined): readonly Database[] {
  const listed = node?.kind === 'list' ? itemsOf(node).map(textOf) : [textOf(node)];
  const known = listed.filter((each) => isOneOf(databases, each));
  return known.length === 0 ? ['sqlite'] : known;
}

function protocol(node: SourceNode | undefined): ProtocolOptions {
  const format = textOf(child(node, 'dateOnlyFormat'));
  const compatibility = textOf(child(node, 'compatibility'));
  const isOld = isOneOf(compatibilities, compatibility);
  return {
    ...(isOld ? { compatibility } : {}),
    dateOnlyFormat: isOneOf(dateOnlyFormats, format) ? format : isOld ? 'bang' : 'iso',
    accentInsensitive: booleanOf(child(node, 'accentInsensitive')) ?? false,
    wildcard: booleanOf(child(node, 'wildcard')) ?? isOld,
  };
}

function limits(context: Context, node: SourceNode | undefined): Limits {
  const entries = Object.entries(limitRules).map(([name, rule]) => [
    name,
    numberOf(child(node, name)) ?? rule.default,
  ]);
  // The rules have a row for each limit, and only limits that can be null have null as their
  // default.
  const found = Object.fromEntries(entries) as Limits;
  return {
    ...found,
    pageSize: within(context, node, found, 'pageSize', 'maxPageSize'),
    entitySetTimeout: within(context, node, found, 'entitySetTimeout', 'maxEntitySetTimeout'),
  };
}

/** A default must be a value that a request could have. */
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

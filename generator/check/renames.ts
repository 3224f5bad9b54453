import { child, entriesOf, itemsOf, textOf } from '../source/tree.js';
import { fold } from '../../runtime/protocol/fold.js';
import { checkName } from './names.js';
import { foundWords } from './shape/describe-error.js';
import type { SourceKey, SourceNode } from '../source/tree.js';
import type { Context } from './context.js';

/** A part of the model that may have had other names. */
export interface Renamed {
  readonly name: string;
  /** Oldest first. */
  readonly earlier: readonly string[];
}

/** The earlier names of a part, oldest first. */
export function earlierNames(node: SourceNode): readonly string[] {
  return earlierNodes(node).flatMap((each) => textOf(each) ?? []);
}

/** The earlier names of a part as a property of the model; no property if there are none. */
export function renamedFromOf(node: SourceNode): { readonly renamedFrom?: readonly string[] } {
  const earlier = earlierNames(node);
  return earlier.length === 0 ? {} : { renamedFrom: earlier };
}

function earlierNodes(node: SourceNode): readonly SourceNode[] {
  const at = child(node, 'renamedFrom');
  if (at === undefined) return [];
  return at.kind === 'list' ? at.items : [at];
}

/** Parts that share one scope, such as the attributes of a dataclass. */
interface Scope {
  /** The prefix of their names in messages, such as `Employee.`. */
  readonly prefix: string;
  readonly parts: readonly { readonly key: SourceKey; readonly node: SourceNode }[];
  /** Whether names may be any text, as those of roles and privileges. */
  readonly isFreeText?: boolean;
  /** Built-in names. */
  readonly builtIn?: readonly string[];
}

/** Checks that an earlier name belongs to one part, and that no part has it now. */
export function checkRenames(context: Context, scope: Scope): void {
  const { prefix, parts, isFreeText, builtIn = [] } = scope;
  const names = [...builtIn, ...parts.map(({ key }) => key.name)];
  const owners = new Map(names.map((name) => [fold(name), name]));
  const renamed = new Map<string, string>();
  for (const { key, node } of parts) {
    const items = soundItems(context, node);
    const own = new Set<string>();
    for (const [index, { name, ...at }] of items.entries()) {
      if (isFreeText !== true) checkName(context, { ...at, name });
      const fill = { part: `${prefix}${key.name}`, earlier: name };
      const other = owners.get(fold(name));
      const taken = renamed.get(fold(name));
      // A part may get back a name that it once had.
      if (name === key.name && index === items.length - 1) {
        context.report('rename/itself', fill, at);
      } else if (other !== undefined && other !== key.name) {
        context.report('rename/still-used', { ...fill, other: `${prefix}${other}` }, at);
      } else if (own.has(name) || (taken !== undefined && taken !== key.name)) {
        const first = `${prefix}${taken ?? key.name}`;
        context.report('rename/twice', { ...fill, other: first }, at);
      }
      own.add(name);
      renamed.set(fold(name), taken ?? key.name);
    }
  }
}

/** Checks the earlier names of parts in a mapping by name, such as functions. */
export function checkEntryRenames(
  context: Context,
  prefix: string,
  node: SourceNode | undefined,
): void {
  const parts = entriesOf(node).map(({ key, value }) => ({ key, node: value }));
  checkRenames(context, { prefix, parts });
}

/** The names that are texts; anything else is reported elsewhere. */
function soundItems(context: Context, node: SourceNode): readonly SourceKey[] {
  const at = child(node, 'renamedFrom');
  if (at?.kind === 'list' && itemsOf(at).length === 0) {
    context.report('shape/too-few', { what: 'renamedFrom' }, at);
  }
  return earlierNodes(node).flatMap((item) => {
    const name = textOf(item);
    if (name !== undefined && name !== '') return [{ ...item, name }];
    if (name === '') context.report('name/empty', {}, item);
    else {
      const fill = { what: 'renamedFrom', expected: 'a name or a list of names' };
      context.report('shape/wrong-type', { ...fill, found: foundWords(item) }, item);
    }
    return [];
  });
}

/** What to write if an earlier name is used; `undefined` if a name is not an earlier one. */
export function renameHint(
  prefix: string,
  name: string,
  parts: Iterable<Renamed>,
): string | undefined {
  for (const part of parts) {
    if (!part.earlier.includes(name)) continue;
    return `${prefix}${name} was renamed to ${part.name}: write ${part.name}`;
  }
  return undefined;
}

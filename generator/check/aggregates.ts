import { type FilterNode, type PathStep } from '../../runtime/filter/ast.js';
import { parseFilter } from '../../runtime/filter/parser.js';
import { type Aggregate, aggregates } from '../../runtime/protocol/aggregate.js';
import { moreDecimals } from '../../runtime/protocol/decimal.js';
import { RequestError } from '../../runtime/protocol/errors.js';
import { child, textOf } from '../source/tree.js';
import { isOneOf } from '../source/vocabulary.js';
import { maxRelations, type Aliases } from './aliases.js';
import { relationTarget } from './relation-target.js';
import { renamedFromOf, renameHint } from './renames.js';
import { describedBy, type AttributeDraft, type DataclassDraft, type World } from './world.js';
import type { AggregateAttribute, StorageType } from '../model/model.js';
import type { Digits } from '../model/decimals.js';
import type { SourceNode } from '../source/tree.js';
import type { Context } from './context.js';

/** The values that an aggregate is computed from. */
interface Value {
  readonly type: StorageType;
  readonly dateOnly: boolean;
  readonly digits: Digits | undefined;
}

interface Path {
  readonly names: readonly string[];
  /** The dataclass of the last to-many relation. */
  readonly counted: DataclassDraft;
  /** Absent if the path ends in a relation. */
  readonly value: Value | undefined;
}

/** What the attributes of all dataclasses need to know about each other. */
interface Links {
  readonly world: World;
  readonly aliases: Aliases;
}

/** The text of an aggregate, or of its filter, that is checked. */
interface Subject extends Links {
  readonly context: Context;
  readonly draft: AttributeDraft;
  readonly at: SourceNode;
}

const form = /^ *(\p{L}+) *\( *([^()]*?) *\) *$/u;

const summed: readonly StorageType[] = ['number', 'integer', 'decimal', 'duration'];
const ordered: readonly StorageType[] = [...summed, 'date'];

/** An attribute whose value the database computes over related entities. */
export function aggregateAttribute(
  context: Context,
  links: Links,
  dataclass: DataclassDraft,
  draft: AttributeDraft,
): AggregateAttribute | undefined {
  const { node, name, label, exposed } = draft;
  const at = child(node, 'aggregate');
  const text = textOf(at);
  if (at === undefined || text === undefined) return undefined;
  const [, word = '', written = ''] = form.exec(text) ?? [];
  const names = written.split('.');
  if (!isOneOf(aggregates, word) || names.includes('')) {
    context.report('aggregate/bad-form', { attribute: label }, at);
    return undefined;
  }
  const path = pathOf({ ...links, context, draft, at }, dataclass, names);
  if (path === undefined) return undefined;
  const { value } = path;
  const types = word === 'count' ? undefined : word === 'min' || word === 'max' ? ordered : summed;
  if (types !== undefined && (value === undefined || !types.includes(value.type))) {
    const found = value === undefined ? 'a relation' : `of the type ${value.type}`;
    const fill = { attribute: label, aggregate: word, found, types: types.join(', ') };
    context.report('aggregate/type', fill, at);
    return undefined;
  }
  const filter = child(node, 'filter');
  const given = textOf(filter);
  if (filter !== undefined && given !== undefined) {
    checkFilter({ ...links, context, draft, at: filter }, path.counted, given);
  }
  return {
    kind: 'aggregate',
    name,
    ...renamedFromOf(node),
    ...describedBy(node),
    exposed,
    aggregate: word,
    path: path.names,
    ...(given === undefined ? {} : { filter: given }),
    ...resultOf(word, value),
  };
}

/** Sums and averages of whole numbers may be larger than those, or have decimals. */
function resultOf(
  aggregate: Aggregate,
  value: Value | undefined,
): Pick<AggregateAttribute, 'type' | 'dateOnly' | 'precision' | 'scale'> {
  if (aggregate === 'count' || value === undefined) return { type: 'integer', dateOnly: false };
  const { type, dateOnly, digits } = value;
  if (aggregate === 'min' || aggregate === 'max') return { type, dateOnly, ...digits };
  if (digits === undefined) return { type: 'number', dateOnly: false };
  const scale = digits.scale + (aggregate === 'average' ? moreDecimals : 0);
  return { type: 'decimal', dateOnly: false, scale };
}

function pathOf(
  subject: Subject,
  start: DataclassDraft,
  written: readonly string[],
): Path | undefined {
  const { context, world, aliases, draft, at } = subject;
  const names: string[] = [];
  let here = start;
  let counted: DataclassDraft | undefined;
  let value: Value | undefined;
  for (const [index, name] of written.entries()) {
    const step = stepOf(subject, here, name);
    if (step === undefined) return undefined;
    const isLast = index === written.length - 1;
    if (step.kind === 'alias') {
      const alias = aliases.resolved(here, step);
      if (alias === undefined) return undefined;
      names.push(...alias.path);
      if ('target' in alias.end) {
        here = alias.end.target;
        counted = alias.counted ?? counted;
        continue;
      }
      const { type, dateOnly, precision, scale } = alias.end;
      const digits =
        precision === undefined || scale === undefined ? undefined : { precision, scale };
      value = { type, dateOnly, digits };
    } else {
      names.push(name);
      if (isRelation(step)) {
        const target = relationTarget(world, step);
        if (target === undefined) return undefined;
        here = target;
        if (step.kind === 'toMany') counted = target;
        continue;
      }
      if (!isInDatabase(step)) {
        context.report('aggregate/no-column', { attribute: draft.label, step: step.label }, at);
        return undefined;
      }
      if (step.type === undefined) return undefined;
      value = { type: step.type, dateOnly: step.dateOnly, digits: step.digits };
    }
    if (!isLast) {
      context.report('aggregate/not-a-relation', { attribute: draft.label, step: step.label }, at);
      return undefined;
    }
  }
  if (counted === undefined) {
    context.report('aggregate/no-to-many', { attribute: draft.label }, at);
    return undefined;
  }
  if (names.length > maxRelations) {
    const fill = { attribute: draft.label, count: names.length, limit: maxRelations };
    context.report('aggregate/too-long', fill, at);
    return undefined;
  }
  return { names, counted, value };
}

function stepOf(
  { context, draft, at }: Subject,
  dataclass: DataclassDraft,
  name: string,
): AttributeDraft | undefined {
  const found = dataclass.attribute.get(name);
  if (found !== undefined) return found;
  const help =
    renameHint(`${dataclass.name}.`, name, dataclass.attributes) ??
    context.suggest(name, dataclass.attribute.keys());
  const fill = { attribute: draft.label, dataclass: dataclass.name, step: name };
  context.report('aggregate/unknown-step', fill, at, help);
  return undefined;
}

/** Whether a column holds the value. */
function isInDatabase({ kind, node }: AttributeDraft): boolean {
  return kind === 'storage' || (kind === 'computed' && child(node, 'expression') !== undefined);
}

/** The limits of a server for filters of clients; the environment cannot make those of the model fail. */
const limits = { filterLength: 10_000, filterDepth: 100, conditions: 100, listSize: 1000 };

function checkFilter(subject: Subject, counted: DataclassDraft, text: string): void {
  try {
    const { filter, orderBy } = parseFilter(text, limits);
    if (orderBy === undefined) checkNode(subject, counted, filter);
    else refuseFilter(subject, 'It has an order, which changes no value.');
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    refuseFilter(subject, error.message.replace(' of $filter', ''));
  }
}

function refuseFilter({ context, draft, at }: Subject, reason: string): void {
  context.report('aggregate/filter', { attribute: draft.label, reason }, at);
}

function checkNode(subject: Subject, counted: DataclassDraft, node: FilterNode): void {
  switch (node.kind) {
    case 'comparison': {
      const { path, value } = node;
      const values = value.kind === 'list' ? value.items : [value];
      const isOpen = [path.placeholder, ...values].some((each) => each?.kind === 'placeholder');
      if (isOpen) refuseFilter(subject, 'It has a placeholder, for which a model has no value.');
      else checkSteps(subject, counted, path.steps);
      return;
    }
    case 'not':
      checkNode(subject, counted, node.operand);
      return;
    case 'and':
    case 'or':
    case 'except':
      checkNode(subject, counted, node.left);
      checkNode(subject, counted, node.right);
      return;
    case 'computed':
      throw new Error('A parsed filter has no results of class code.');
  }
}

function checkSteps(subject: Subject, start: DataclassDraft, steps: readonly PathStep[]): void {
  const { context, world, aliases, draft, at } = subject;
  let here = start;
  for (const { name } of steps) {
    const step = stepOf(subject, here, name);
    if (step === undefined) return;
    const target =
      step.kind === 'alias' ? targetOf(aliases.resolved(here, step)) : relationTarget(world, step);
    if (target === undefined) {
      if (step.kind !== 'alias' && !isRelation(step) && !isInDatabase(step)) {
        context.report('aggregate/no-column', { attribute: draft.label, step: step.label }, at);
      }
      return;
    }
    here = target;
  }
}

function targetOf(alias: ReturnType<Aliases['resolved']>): DataclassDraft | undefined {
  return alias !== undefined && 'target' in alias.end ? alias.end.target : undefined;
}

function isRelation({ kind }: AttributeDraft): boolean {
  return kind === 'toOne' || kind === 'toMany';
}

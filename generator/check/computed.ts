import { child, entry, itemsOf, textOf } from '../source/tree.js';
import { accessors as accessorWords, isOneOf } from '../source/vocabulary.js';
import { outsideOneExpression } from './expression-text.js';
import { renamedFromOf } from './renames.js';
import { checkDateOnly, checkDigits } from './storage.js';
import { columnOf, describedBy, type AttributeDraft } from './world.js';
import type { Accessor, ComputedAttribute, StorageType } from '../model/model.js';
import type { SourceNode } from '../source/tree.js';
import type { Context } from './context.js';

const noAccessorTypes: readonly StorageType[] = ['image', 'blob'];
const noExpressionTypes: readonly StorageType[] = ['decimal', 'image', 'blob', 'vector'];

/** A computed attribute: an expression, or accessors in class code. */
export function computedAttribute(
  context: Context,
  draft: AttributeDraft,
): ComputedAttribute | undefined {
  const { node, name, type, label, dateOnly, digits } = draft;
  const expression = textOf(child(node, 'expression'));
  if (type === undefined) return undefined;
  checkDateOnly(context, draft);
  checkDigits(context, draft);
  const accessors = checkAccessors(context, draft);
  const given = entry(node, 'accessors');
  if (expression !== undefined) {
    if (given !== undefined) {
      context.report('computed/expression-and-accessors', { attribute: label }, given.key);
    }
    if (noExpressionTypes.includes(type)) {
      const at = child(node, 'computed') ?? node;
      const help = type === 'decimal' ? 'let class code compute it: accessors: [get]' : undefined;
      context.report('computed/expression-type', { attribute: label, type }, at, help);
    }
  }
  if (expression === undefined && noAccessorTypes.includes(type)) {
    const at = child(node, 'computed') ?? node;
    context.report('computed/accessor-type', { attribute: label, type }, at);
  }
  return {
    kind: 'computed',
    name,
    ...renamedFromOf(node),
    type,
    dateOnly,
    ...digits,
    ...(expression === undefined ? {} : { expression, column: columnOf(draft) }),
    accessors: expression === undefined ? accessors : [],
    exposed: draft.exposed,
    ...describedBy(node),
  };
}

function checkAccessors({ report }: Context, { node, label }: AttributeDraft): readonly Accessor[] {
  const given = child(node, 'accessors');
  if (given?.kind !== 'list') return ['get'];
  const named = itemsOf(given).map(textOf);
  const known = accessorWords.filter((each) => named.includes(each));
  const isSound = named.length > 0 && named.every((each) => isOneOf(accessorWords, each));
  if (isSound && !known.includes('get')) report('computed/no-getter', { attribute: label }, given);
  return known;
}

/** An expression that a database can check. */
export interface ExpressionUse {
  readonly draft: AttributeDraft;
  readonly type: StorageType;
  readonly expression: string;
  readonly at: SourceNode;
}

/** The expression of an attribute, if it cannot leave the parentheses around it. */
export function soundExpression(
  { report }: Context,
  draft: AttributeDraft,
): ExpressionUse | undefined {
  const at = child(draft.node, 'expression');
  const expression = textOf(at);
  if (draft.kind !== 'computed' || draft.type === undefined) return undefined;
  if (at === undefined || expression === undefined) return undefined;
  const reason = outsideOneExpression(expression);
  if (reason === undefined) return { draft, type: draft.type, expression, at };
  report('computed/not-one-expression', { attribute: draft.label, reason }, at);
  return undefined;
}

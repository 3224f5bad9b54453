import { booleanOf, child, entry, textOf } from '../source/tree.js';
import { deleteRules, isOneOf } from '../source/vocabulary.js';
import { foreignKeyOf, type ForeignKey } from './foreign-keys.js';
import { renamedFromOf, renameHint } from './renames.js';
import { relationTarget } from './relation-target.js';
import { describedBy, type AttributeDraft, type DataclassDraft, type World } from './world.js';
import type { RelatedEntitiesAttribute, RelatedEntityAttribute } from '../model/model.js';
import type { Context } from './context.js';
import type { Inverses } from './inverses.js';

/**
 * Checks that a relation leads somewhere, and that an exposed one leads to something that is
 * exposed.
 */
function checkTarget(context: Context, world: World, draft: AttributeDraft): void {
  const { node, label } = draft;
  const at = child(node, 'to');
  const name = textOf(at);
  if (at === undefined || name === undefined) return;
  const target = world.dataclass.get(name);
  if (target === undefined) {
    const help =
      renameHint('', name, world.dataclasses) ?? context.suggest(name, world.dataclass.keys());
    context.report('relation/unknown-target', { relation: label, target: name }, at, help);
    return;
  }
  const exposed = entry(node, 'exposed');
  if (exposed !== undefined && booleanOf(exposed.value) === true && !target.exposed) {
    context.report('relation/target-not-exposed', { relation: label, target: name }, exposed.value);
  }
}

/** A to-one relation with its foreign key, which exists or is generated. */
export interface ToOne {
  readonly relation: RelatedEntityAttribute;
  readonly foreignKey: ForeignKey;
}

export function toOneRelation(
  context: Context,
  world: World,
  dataclass: DataclassDraft,
  draft: AttributeDraft,
  inverses: Inverses,
): ToOne | undefined {
  const { node, name } = draft;
  checkTarget(context, world, draft);
  const target = relationTarget(world, draft);
  const foreignKey = foreignKeyOf(context, dataclass, draft, target);
  const mandatory = booleanOf(child(node, 'mandatory')) === true || foreignKey.isMandatory;
  const onDelete = deleteRule(context, draft, mandatory);
  if (target === undefined) return undefined;
  const inverse = inverses.get(draft)?.name;
  return {
    foreignKey: { ...foreignKey, isMandatory: mandatory },
    relation: {
      kind: 'relatedEntity',
      name,
      ...renamedFromOf(node),
      exposed: draft.exposed && target.exposed,
      ...describedBy(node),
      target: target.name,
      foreignKey: foreignKey.name,
      ...(inverse === undefined ? {} : { inverse }),
      onDelete,
      mandatory,
    },
  };
}

function deleteRule(
  { report }: Context,
  { node, label }: AttributeDraft,
  mandatory: boolean,
): RelatedEntityAttribute['onDelete'] {
  const at = child(node, 'onDelete');
  const given = textOf(at);
  if (at === undefined || !isOneOf(deleteRules, given)) return mandatory ? 'restrict' : 'setNull';
  if (given === 'setNull' && mandatory) {
    report('relation/set-null-mandatory', { relation: label }, at);
  }
  return given;
}

export function toManyRelation(
  context: Context,
  world: World,
  draft: AttributeDraft,
): RelatedEntitiesAttribute | undefined {
  checkTarget(context, world, draft);
  const target = relationTarget(world, draft);
  const inverse = textOf(child(draft.node, 'inverse'));
  if (target === undefined || inverse === undefined) return undefined;
  return {
    kind: 'relatedEntities',
    name: draft.name,
    ...renamedFromOf(draft.node),
    exposed: draft.exposed && target.exposed,
    ...describedBy(draft.node),
    target: target.name,
    inverse,
  };
}

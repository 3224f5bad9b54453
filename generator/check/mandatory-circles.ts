import type { World } from './world.js';
import type { Dataclass, RelatedEntityAttribute } from '../model/model.js';
import type { Context } from './context.js';

/** A mandatory relation of a dataclass. */
interface Step {
  readonly from: string;
  readonly relation: RelatedEntityAttribute;
}

/**
 * Reports circles of mandatory relations. A save looks for the related entity, also in a
 * transaction or an atomic list, so neither entity can be the first one. It is a warning, because
 * entities may have come into the database another way.
 */
export function checkMandatoryCircles(
  context: Context,
  world: World,
  dataclasses: readonly Dataclass[],
): void {
  const steps = stepsOf(dataclasses);
  const told = new Set<string>();
  for (const step of [...steps.values()].flat()) {
    const circle = circleOf(steps, step);
    if (circle === undefined) continue;
    const labels = circle.map(({ from, relation }) => `${from}.${relation.name}`);
    const identity = JSON.stringify([...labels].sort());
    if (told.has(identity)) continue;
    told.add(identity);
    const at = world.dataclass.get(step.from)?.attribute.get(step.relation.name)?.key;
    if (at === undefined) continue;
    const [last, ...others] = circle.map(({ from }) => from).reverse();
    const entities = others.length === 0 ? '' : `${others.reverse().join(', ')} or ${last ?? ''}`;
    context.report('relation/mandatory-circle', { circle: labels.join(', '), entities }, at);
  }
}

/** The mandatory relations of each dataclass, without those that lead out of every circle. */
function stepsOf(dataclasses: readonly Dataclass[]): ReadonlyMap<string, readonly Step[]> {
  const steps = new Map<string, readonly Step[]>(
    dataclasses.map(({ name: from, attributes }) => [
      from,
      attributes.flatMap((each) =>
        each.kind === 'relatedEntity' && each.mandatory && each.onDelete !== 'none'
          ? [{ from, relation: each }]
          : [],
      ),
    ]),
  );
  for (let size = -1; size !== steps.size;) {
    size = steps.size;
    for (const [from, all] of steps) {
      const further = all.filter(({ relation }) => steps.has(relation.target));
      if (further.length === 0) steps.delete(from);
      else steps.set(from, further);
    }
  }
  return steps;
}

/** The shortest path from a relation back to its own dataclass. */
function circleOf(
  steps: ReadonlyMap<string, readonly Step[]>,
  first: Step,
): readonly Step[] | undefined {
  const cameBy = new Map<string, Step>([[first.relation.target, first]]);
  for (const at of cameBy.keys()) {
    if (at === first.from) break;
    for (const step of steps.get(at) ?? []) {
      if (!cameBy.has(step.relation.target)) cameBy.set(step.relation.target, step);
    }
  }
  const circle: Step[] = [];
  for (let at = cameBy.get(first.from); at !== undefined; at = cameBy.get(at.from)) {
    circle.unshift(at);
    if (at === first) return circle;
  }
  return undefined;
}

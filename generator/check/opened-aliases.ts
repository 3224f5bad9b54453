import { Granted, type Holder } from '../model/granted.js';
import { attributeNamed, targetOf } from '../model/lookup.js';
import type { World } from './world.js';
import type { AliasAttribute, Attribute, Dataclass, Model, Roles } from '../model/model.js';
import type { Context } from './context.js';

/**
 * Reports aliases that show values to sessions that may not read the original attribute. An alias
 * with a read permission of its own is intended.
 * @param model as the file has it, exposed or not, before roles close anything
 */
export function checkOpenedAliases(
  context: Context,
  world: World,
  model: Omit<Model, 'roles'>,
  roles: Roles,
): void {
  const granted = new Granted(model, roles);
  const holders = granted
    .holders()
    .filter(({ kind }) => kind !== (roles.forceLogin ? 'guest' : 'user'));
  const deliberate = new Set(
    roles.permissions
      .filter(({ type, actions }) => type === 'attribute' && actions.read !== undefined)
      .map(({ applyTo }) => applyTo),
  );
  for (const dataclass of model.dataclasses) {
    for (const attribute of dataclass.attributes) {
      const label = `${dataclass.name}.${attribute.name}`;
      if (attribute.kind !== 'alias' || deliberate.has(label)) continue;
      const way = wayOf(model, dataclass, attribute);
      const showing = holders.filter((holder) =>
        granted.attribute(dataclass, attribute, holder, 'read'),
      );
      const closedAt = (holder: Holder): readonly [Dataclass, Attribute] | undefined =>
        way.find(([of, step]) => !granted.attribute(of, step, holder, 'read'));
      const [first, ...others] = showing.filter((holder) => closedAt(holder) !== undefined);
      const closed = first === undefined ? undefined : closedAt(first);
      const at = world.dataclass.get(dataclass.name)?.attribute.get(attribute.name)?.key;
      if (first === undefined || closed === undefined || at === undefined) continue;
      const rest = others.length === 0 ? '' : ` and ${String(others.length)} more`;
      const fill = {
        alias: label,
        holders: `${wordOf(first)}${rest}`,
        step: `${closed[0].name}.${closed[1].name}`,
      };
      context.report('alias/opens-closed', fill, at);
    }
  }
}

/**
 * The attributes on the path of an alias, including its end, as if all of them were exposed: this
 * check is about privileges.
 */
function wayOf(
  model: Omit<Model, 'roles'>,
  start: Dataclass,
  { path }: AliasAttribute,
): readonly (readonly [Dataclass, Attribute])[] {
  let dataclass = start;
  return path.map((name) => {
    const attribute = attributeNamed(dataclass, name);
    const step = [
      { ...dataclass, exposed: true },
      { ...attribute, exposed: true },
    ] as const;
    if ('target' in attribute) dataclass = targetOf(model, attribute);
    return step;
  });
}

function wordOf({ kind, name }: Holder): string {
  switch (kind) {
    case 'guest':
      return 'everybody';
    case 'user':
      return 'every user';
    case 'role':
      return `the role ${name}`;
    case 'privilege':
      return `the privilege ${name}`;
  }
}

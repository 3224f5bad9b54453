import type { ConstraintError } from '../dialect/executor.js';
import { type ProtocolError, protocolError } from '../protocol/errors.js';
import { shortened } from '../protocol/found.js';
import type { Reference } from './delete-reach.js';

/** Nothing was deleted: other entities depend on what would have been. */
export class DeletionRefused extends Error {
  constructor(readonly problems: readonly ProtocolError[]) {
    super(problems[0]?.message);
  }
}

/** Entities that keep others from being deleted, by one relation. */
export interface Dependents {
  readonly reference: Reference;
  readonly count: number;
  /** The first of them. */
  readonly keys: readonly string[];
}

/** Tells who depends on what, as far as clients may know. */
export function refusedByDependents(all: readonly Dependents[]): DeletionRefused {
  const shown = all.flatMap((dependents) => {
    const text = shownDependents(dependents);
    return text === undefined ? [] : [text];
  });
  const texts = shown.length < all.length ? [...shown, hiddenDependents] : shown;
  return new DeletionRefused(
    texts.map((text) => protocolError('deletionRestricted', `Nothing was deleted: ${text}.`)),
  );
}

/** Characters; a longer key is not written out. */
const longestKey = 64;

const hiddenDependents = 'entities that are not exposed depend on what would be deleted';

function shownDependents({ reference, count, keys }: Dependents): string | undefined {
  const { referring, relation, target } = reference;
  const by = [relation, referring.foreignKey(relation)].find(
    (each) => each.exposed !== false,
  )?.name;
  if (by === undefined || !referring.exposed || !target.exposed) return undefined;
  const names = keys
    .map((key) => JSON.stringify(key.length > longestKey ? shortened(key) : key))
    .join(', ');
  const others = count > keys.length ? ' and others' : '';
  const subject = count === 1 ? '1 entity' : `${count} entities`;
  const verb = count === 1 ? 'refers' : 'refer';
  return `${subject} of the "${referring.name}" dataclass (${names}${others}) ${verb} by "${by}" to what would be deleted of "${target.name}"`;
}

/** Something in the database that the model does not tell of, or an expression that fails without its relation. */
export function refusedByDatabase({ kind }: ConstraintError): DeletionRefused {
  const text =
    kind === 'expression'
      ? 'a computed attribute of an entity cannot be computed without its relation'
      : 'the database holds something else that depends on what would be deleted';
  return new DeletionRefused([
    protocolError('deletionRestricted', `Nothing was deleted: ${text}.`),
  ]);
}

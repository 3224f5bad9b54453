import { isVisible, readable } from '../dataclass/permissions.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { ConstraintError } from '../dialect/executor.js';
import { errorCodes, type ProtocolError, protocolError } from '../protocol/errors.js';
import { shortened } from '../protocol/names.js';
import type { Reference } from './delete-statements.js';
import type { EventError } from './lifecycle.js';
import { entityStatuses, refusedByEvent } from './refusals.js';

/** Nothing was deleted: other entities depend on what would have been deleted. */
export class DeletionRefused extends Error {
  /**
   * @param status of HTTP
   * @param entityStatus `status` of `__STATUS` (protocol P7.18)
   */
  constructor(
    readonly problems: readonly ProtocolError[],
    readonly status: number = errorCodes.deletionRestricted.status,
    readonly entityStatus: number = entityStatuses.other,
  ) {
    super(problems[0]?.message);
  }
}

/** An event of class code refuses the deletion of an entity (`class-code.md#events`). */
export function refusedByDropEvent(
  dataclass: Dataclass,
  kind: 'validateDrop' | 'dropping',
  error: EventError,
): DeletionRefused {
  const { problems, status, entityStatus } = refusedByEvent(dataclass, kind, error);
  return new DeletionRefused(problems, status, entityStatus);
}

/** A deletion reaches more entities with events than a server keeps in memory. */
export function refusedBySize(most: number): DeletionRefused {
  const text = `Nothing was deleted: the deletion reaches too many entities with events, whose keys and values would take more than ${most} bytes; delete fewer at once.`;
  return new DeletionRefused([protocolError('tooLarge', text)], errorCodes.tooLarge.status);
}

/** How many locks an answer lists. */
const namedLocks = 10;

export interface LockedEntity {
  readonly dataclass: Dataclass;
  readonly key: string | number;
  /** Whether the requester may see it. */
  readonly isShown: boolean;
}

/** Other sessions have locked what would be deleted or changed. */
export function refusedByLocks(locks: readonly LockedEntity[]): DeletionRefused {
  const problems = locks.slice(0, namedLocks).map(({ dataclass, key, isShown }) => {
    const entity =
      isVisible(dataclass) && isShown
        ? `the entity "${shortened(String(key))}" of "${dataclass.name}"`
        : 'an entity that is not exposed';
    const text = `Nothing was deleted: ${entity} is locked by another session.`;
    return protocolError('entityLocked', text);
  });
  return new DeletionRefused(problems, errorCodes.entityLocked.status, entityStatuses.locked);
}

/** Entities that prevent others from being deleted, by one relation. */
export interface Dependents {
  readonly reference: Reference;
  /** The number of visible ones. */
  readonly count: number;
  /** The first of them. */
  readonly keys: readonly string[];
}

/** Reports which entities depend on what, as far as clients may know. */
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

/** Characters; longer keys are shortened. */
const longestKey = 64;

const hiddenDependents = 'entities that are not exposed depend on what would be deleted';

function shownDependents({ reference, count, keys }: Dependents): string | undefined {
  const { referring, relation, target } = reference;
  const by = [relation, referring.foreignKey(relation)].find(
    (each) => readable(referring, each.name) !== undefined,
  )?.name;
  const isShown = isVisible(referring) && isVisible(target);
  if (count === 0 || by === undefined || !isShown) return undefined;
  const names = keys
    .map((key) => JSON.stringify(key.length > longestKey ? shortened(key) : key))
    .join(', ');
  const others = count > keys.length ? ' and others' : '';
  const subject = count === 1 ? '1 entity' : `${count} entities`;
  const verb = count === 1 ? 'refers' : 'refer';
  return `${subject} of the "${referring.name}" dataclass (${names}${others}) ${verb} by "${by}" to what would be deleted of "${target.name}"`;
}

/**
 * A constraint of the database that the model does not know, or an expression that fails without
 * its relation.
 */
export function refusedByDatabase({ kind }: ConstraintError): DeletionRefused {
  const text =
    kind === 'expression'
      ? 'a computed attribute of an entity cannot be computed without its relation'
      : 'the database holds something else that depends on what would be deleted';
  return new DeletionRefused([
    protocolError('deletionRestricted', `Nothing was deleted: ${text}.`),
  ]);
}

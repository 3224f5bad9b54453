import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { RestError } from '../client/errors.js';
import { labelOfEntity } from './entity.js';
import type { ExplorerDataclass, OnDelete } from './model.js';
import { useMounted } from './mounted.js';
import type { Place } from './place.js';
import type { AnyEntity } from './server.js';
import { type Opened, store } from './store.js';
import { shownEntities } from './values.js';

interface DeletionProps {
  readonly opened: Opened;
  readonly dataclass: ExplorerDataclass;
  readonly entity: AnyEntity;
  /** The place without this entity. */
  readonly closed: Place;
  readonly cancel: () => void;
}

/** Entities that refer to the one that is to be deleted. */
interface Referring {
  readonly dataclass: string;
  readonly relation: string;
  readonly onDelete: OnDelete;
  readonly count: number;
}

/** Asks whether an entity is to be deleted, and says what the model does with those that refer to it. */
export function Deletion({
  opened,
  dataclass,
  entity,
  closed,
  cancel,
}: DeletionProps): JSX.Element {
  const [found, setFound] = useState<readonly Referring[]>();
  const keep = useRef<HTMLButtonElement>(null);
  const isMounted = useMounted();
  useEffect(() => {
    keep.current?.focus();
    void store.attempt(async () => setFound(await referringTo(opened, dataclass, entity)));
  }, [opened, dataclass, entity]);
  useEffect(() => keep.current?.scrollIntoView({ block: 'nearest' }), [found]);
  const drop = async (): Promise<void> => {
    await entity.drop();
    store.refind();
    if (isMounted()) store.go(closed);
  };
  return (
    <div
      class="conflict"
      role="alertdialog"
      aria-label="Delete"
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        event.stopPropagation();
        cancel();
      }}
    >
      <p>Delete {labelOfEntity(dataclass, entity)}?</p>
      {found === undefined && <p class="quiet">Looking for entities that refer to it…</p>}
      {found?.length === 0 && <p>No entity that you may see refers to it.</p>}
      {found !== undefined && found.length > 0 && (
        <ul>
          {found.map((each) => (
            <li key={`${each.dataclass}.${each.relation}`}>{consequence(each)}</li>
          ))}
        </ul>
      )}
      <button type="button" class="primary" onClick={() => void store.act(drop)}>
        Delete
      </button>{' '}
      <button ref={keep} type="button" onClick={cancel}>
        Keep
      </button>
    </div>
  );
}

/** Counts the entities that refer to one, by the relations that the session sees. */
async function referringTo(
  { model, datastore }: Opened,
  { name }: ExplorerDataclass,
  { key }: AnyEntity,
): Promise<readonly Referring[]> {
  const relations = [...model.dataclasses.values()].flatMap((each) =>
    each.attributes.flatMap((attribute) =>
      attribute.target === name && attribute.onDelete !== undefined
        ? [{ dataclass: each.name, relation: attribute.name, onDelete: attribute.onDelete }]
        : [],
    ),
  );
  const counted = relations.map(async (each) => {
    const referring = datastore.all(each.dataclass).query(':1 = :2', each.relation, key);
    return { ...each, count: await referring.count().catch(zeroIfDenied) };
  });
  return (await Promise.all(counted)).filter(({ count }) => count > 0);
}

/** The catalog may describe dataclasses whose entities the session may not read. */
function zeroIfDenied(error: unknown): number {
  if (error instanceof RestError && (error.status === 401 || error.status === 403)) return 0;
  throw error;
}

/** What a deletion does, as a sentence. */
function consequence({ dataclass, relation, onDelete, count }: Referring): string {
  const who = `${shownEntities(count)} of ${dataclass} (${relation})`;
  const isOne = count === 1;
  switch (onDelete) {
    case 'cascade':
      return `${who} ${isOne ? 'is' : 'are'} deleted, too, and what is deleted with ${isOne ? 'it' : 'them'}.`;
    case 'setNull':
      return `${who} ${isOne ? 'stays' : 'stay'}, and ${isOne ? 'refers' : 'refer'} to nothing then.`;
    case 'restrict':
      return `${who} ${isOne ? 'forbids' : 'forbid'} the deletion.`;
    case 'none':
      return `${who} ${isOne ? 'stays' : 'stay'} as ${isOne ? 'it is' : 'they are'}, and ${isOne ? 'refers' : 'refer'} to an entity that is gone.`;
  }
}

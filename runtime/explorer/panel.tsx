import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Deletion } from './deletion.js';
import { labelOfEntity, memberOf } from './entity.js';
import { Form } from './form.js';
import { Functions } from './functions.js';
import { Lock } from './lock.js';
import type { ExplorerAttribute, ExplorerDataclass } from './model.js';
import { addressOf, gridOf, type Place, placeOfGrid } from './place.js';
import type { AnyEntity, Media, Related, Selection } from './server.js';
import { type Opened, store, useStore } from './store.js';
import { shownCount, shownValue } from './values.js';

interface PanelProps {
  readonly opened: Opened;
  readonly dataclass: ExplorerDataclass;
  readonly place: Place;
  /** Key of the entity. */
  readonly entityKey: string;
}

/** An entity that was read; `null` if there is none. */
interface Read extends Pick<PanelProps, 'opened' | 'dataclass'> {
  readonly key: string;
  readonly entity: AnyEntity | null;
}

/** All of one entity, beside the grid. */
export function Panel({ opened, dataclass, place, entityKey }: PanelProps): JSX.Element {
  const { datastore } = opened;
  const panel = useRef<HTMLElement>(null);
  const [read, setRead] = useState<Read>();
  const { edits } = useStore();
  const focus = (): void => panel.current?.focus();
  useEffect(() => {
    focus();
    return () => store.set({ saved: undefined });
  }, [dataclass.name, entityKey]);
  useEffect(() => {
    let isOver = false;
    void store.attempt(async () => {
      const found = await datastore.get(dataclass.name, entityKey);
      if (!isOver) setRead({ opened, dataclass, key: entityKey, entity: found });
    });
    return () => {
      isOver = true;
    };
  }, [datastore, dataclass, entityKey, edits]);
  // Until another entity is read, this is the one before; after a login, with the model before.
  const isRead = read?.dataclass.name === dataclass.name && read.key === entityKey;
  const entity = isRead ? read.entity : undefined;
  const grid = placeOfGrid(place);
  return (
    <aside
      ref={panel}
      tabIndex={-1}
      aria-label={`${dataclass.name} ${entityKey}`}
      onKeyDown={({ key, target }) => {
        // What is typed in a form would be lost.
        const isTyped = target instanceof Element && target.closest('form') !== null;
        if (key === 'Escape' && !isTyped) store.go(grid);
      }}
    >
      <a class="close" href={addressOf(grid)} aria-label="Close the entity">
        ×
      </a>
      {entity === undefined && <p class="quiet">Reading…</p>}
      {entity === null && (
        <p>
          There is no {dataclass.name} with the key {entityKey}, or the session may not see it.
        </p>
      )}
      {isRead && entity !== null && entity !== undefined && (
        <EntityView
          key={`${dataclass.name} ${entityKey}`}
          {...{ entity, focus }}
          opened={read.opened}
          dataclass={read.dataclass}
          closed={grid}
        />
      )}
    </aside>
  );
}

interface EntityProps {
  readonly opened: Opened;
  readonly dataclass: ExplorerDataclass;
  readonly entity: AnyEntity;
}

interface EntityViewProps extends EntityProps {
  /** The place without this entity. */
  readonly closed: Place;
  /** Moves the focus to the panel, when a form is gone that had it. */
  readonly focus: () => void;
}

function EntityView({ opened, dataclass, entity, closed, focus }: EntityViewProps): JSX.Element {
  /** What the form is of: it stays the same while the panel reads a newer one, or a login the model. */
  const [edited, setEdited] = useState<EntityProps>();
  const { saved } = useStore();
  return (
    <>
      <h2>{labelOfEntity(dataclass, entity)}</h2>
      <p class="quiet">
        {dataclass.name} · stamp {entity.stamp} · <Lock {...{ entity }} />
      </p>
      {edited !== undefined ? (
        <Form
          {...edited}
          saved={() => {
            setEdited(undefined);
            store.set({ saved: edited.entity });
            store.edited();
            focus();
          }}
          cancel={() => {
            setEdited(undefined);
            if (edited.entity.touched()) store.edited();
            focus();
          }}
        />
      ) : entity.touched() ? (
        <p class="quiet">Reading…</p>
      ) : (
        <>
          {saved && <p role="status">Saved.</p>}
          <Details
            {...{ opened, dataclass, entity, closed, focus }}
            edit={() => {
              store.set({ saved: undefined });
              setEdited({ opened, dataclass, entity });
            }}
          />
        </>
      )}
    </>
  );
}

interface DetailsProps extends EntityViewProps {
  readonly edit: () => void;
}

/** The values and relations of an entity, and what can be done with it. */
function Details({ opened, dataclass, entity, closed, focus, edit }: DetailsProps): JSX.Element {
  const { attributes } = dataclass;
  const [isDeleting, setDeleting] = useState(false);
  const values = attributes.filter(({ kind }) => kind !== 'one' && kind !== 'many');
  const relations = attributes.filter(({ kind }) => kind === 'one' || kind === 'many');
  return (
    <>
      <dl>
        {values.map((each) => (
          <div key={each.name}>
            <dt>{each.name}</dt>
            <dd>
              <Value {...{ entity }} attribute={each} />
            </dd>
          </div>
        ))}
      </dl>
      {relations.length > 0 && (
        <ul class="relations">
          {relations.map((each) => (
            <li key={each.name}>
              <span>{each.name}</span>
              {each.kind === 'one' ? (
                <RelatedOne {...{ opened, entity }} attribute={each} />
              ) : (
                <RelatedMany {...{ dataclass, entity }} attribute={each} />
              )}
            </li>
          ))}
        </ul>
      )}
      <Functions {...{ opened }} functions={dataclass.functions.entity} owner={() => entity} />
      <div class="actions">
        <button type="button" onClick={edit}>
          Edit
        </button>
        {isDeleting ? (
          <Deletion
            {...{ opened, dataclass, entity, closed }}
            cancel={() => {
              setDeleting(false);
              focus();
            }}
          />
        ) : (
          <button type="button" onClick={() => setDeleting(true)}>
            Delete…
          </button>
        )}
      </div>
    </>
  );
}

interface NewPanelProps {
  readonly opened: Opened;
  readonly dataclass: ExplorerDataclass;
  readonly place: Place;
}

/** A form for a new entity, beside the grid. */
export function NewPanel({ opened, dataclass, place }: NewPanelProps): JSX.Element {
  const { datastore } = opened;
  const entity = useMemo(
    () => datastore.dataclass(dataclass.name).new() as AnyEntity,
    [datastore, dataclass],
  );
  const closed = placeOfGrid(place);
  return (
    <aside aria-label={`New ${dataclass.name}`}>
      <h2>New {dataclass.name}</h2>
      <Form
        {...{ opened, dataclass, entity }}
        saved={() => {
          store.refind();
          store.set({ saved: entity });
          store.go({ ...closed, entity: String(entity.key) });
        }}
        cancel={() => store.go(closed)}
      />
    </aside>
  );
}

interface ValueProps {
  readonly entity: AnyEntity;
  readonly attribute: ExplorerAttribute;
}

function Value({ entity, attribute }: ValueProps): JSX.Element {
  const value = memberOf(entity, attribute.name);
  if (attribute.kind !== 'image' && attribute.kind !== 'blob') {
    return value === null ? (
      <Empty />
    ) : (
      <span class={attribute.kind}>{shownValue(attribute, value)}</span>
    );
  }
  const { url } = value as Media;
  if (url === null) return <Empty />;
  return attribute.kind === 'image' ? (
    <img src={url} alt={attribute.name} />
  ) : (
    <a href={url} download={attribute.name}>
      download
    </a>
  );
}

function Empty(): JSX.Element {
  return <span class="quiet">–</span>;
}

function RelatedOne({
  opened,
  entity,
  attribute,
}: ValueProps & Pick<EntityProps, 'opened'>): JSX.Element {
  const related = memberOf(entity, attribute.name) as Related;
  const target = opened.model.dataclasses.get(attribute.target ?? '');
  const [label, setLabel] = useState('');
  useEffect(() => {
    if (related.key === null || target === undefined) return;
    void store.attempt(async () => {
      const found = (await related.get()) as AnyEntity | null;
      setLabel(found === null ? '' : labelOfEntity(target, found));
    });
  }, [entity, attribute]);
  if (related.key === null) return <Empty />;
  const key = String(related.key);
  return (
    <a href={addressOf(gridOf(attribute.target ?? '', { entity: key }))}>
      {label === '' ? key : label}
    </a>
  );
}

function RelatedMany({
  dataclass,
  entity,
  attribute,
}: ValueProps & Pick<EntityProps, 'dataclass'>): JSX.Element {
  const [count, setCount] = useState<number>();
  useEffect(() => {
    void store.attempt(async () =>
      setCount(await (memberOf(entity, attribute.name) as Selection).count()),
    );
  }, [entity, attribute]);
  const of = { dataclass: dataclass.name, key: String(entity.key), relation: attribute.name };
  const text = count === undefined ? '…' : shownCount(count);
  return <a href={addressOf(gridOf(attribute.target ?? '', { of }))}>{text}</a>;
}

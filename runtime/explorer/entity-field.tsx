import type { InputHTMLAttributes, JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { Combobox } from './combobox.js';
import { memberOf } from './entity.js';
import type { ExplorerAttribute, ExplorerDataclass } from './model.js';
import type { ExplorerDatastore, Key, Row, Rows } from './server.js';
import { type Opened, store } from './store.js';
import type { Typed } from './written.js';

interface EntityFieldProps {
  readonly opened: Opened;
  readonly attribute: ExplorerAttribute;
  readonly target: ExplorerDataclass;
  readonly typed: Typed;
  readonly input: InputHTMLAttributes & { readonly id: string };
  readonly change: (key: Key | null | undefined) => void;
}

/** An entity with what names it for people. */
interface Named {
  readonly key: Key;
  readonly text: string;
}

const none: readonly Named[] = [];

/** Milliseconds without typing after which entities are looked for. */
const typingPause = 200;

const mostProposals = 10;

/** Chooses an entity by its label; by its key, typed exactly, if its dataclass has no label. */
export function EntityField({
  opened: { datastore },
  attribute,
  target,
  typed,
  input,
  change,
}: EntityFieldProps): JSX.Element {
  const { label } = target;
  /** What is typed; absent while the input shows the entity that was there. */
  const [text, setText] = useState<string>();
  const [present, setPresent] = useState('');
  /** The text whose entities are proposed; absent while none are. */
  const [sought, setSought] = useState<string>();
  const [found, setFound] = useState(none);
  const proposals = useMemo(() => found.map(({ text: each }) => each), [found]);
  useEffect(() => {
    if (typed === null || typed === undefined) return;
    const key = typed as Key;
    setPresent(String(key));
    if (label === undefined) return;
    void store.attempt(async () => {
      const named = rowsOf(datastore, target.name, label, ['__KEY = :1', key]);
      const row = await named.first();
      if (row !== null) setPresent(namedOf(row, label).text);
    });
  }, []);
  useEffect(() => {
    if (sought === undefined || label === undefined) return;
    const search = new AbortController();
    const { signal } = search;
    const find = async (): Promise<void> => {
      const rows = await proposed(datastore, target.name, label, sought, signal);
      if (!signal.aborted) setFound(distinct(rows.map((row) => namedOf(row, label))));
    };
    const timer = setTimeout(() => void store.attempt(find), typingPause);
    return () => {
      clearTimeout(timer);
      search.abort();
    };
  }, [datastore, target, sought]);

  const close = (): void => {
    setSought(undefined);
    setFound(none);
  };
  const choose = (named: Named | undefined): void => {
    setText(named?.text ?? '');
    change(named?.key ?? null);
    close();
  };
  const type = (value: string): void => {
    setText(value);
    setSought(value);
    // Enter must not choose what was proposed for another text.
    setFound(none);
    if (value === '') change(null);
    else change(label === undefined ? keyOf(target, value) : undefined);
  };
  const shown = text ?? present;
  return (
    <div class="chosen">
      <Combobox
        id={input.id}
        label={`Entities of ${target.name}`}
        text={shown}
        proposals={proposals}
        marksFirst
        input={{
          ...input,
          placeholder: `${label ?? 'key'} of ${target.name}`,
        }}
        change={({ value }) => type(value)}
        choose={(index) => choose(found[index])}
        close={close}
        open={() => {
          // All are proposed if the input shows one that is chosen.
          setSought(typed === undefined ? shown : '');
        }}
      />
      {shown !== '' && (
        <button
          type="button"
          aria-label={`Clear ${attribute.name}`}
          onClick={() => choose(undefined)}
        >
          ×
        </button>
      )}
    </div>
  );
}

/** Entities whose label begins with a text, then those that contain it. */
async function proposed(
  datastore: ExplorerDatastore,
  dataclass: string,
  label: string,
  text: string,
  signal: AbortSignal,
): Promise<readonly Row[]> {
  const read = (most: number, filter?: string): Promise<readonly Row[]> => {
    const values = filter === undefined ? [] : [filter, label, text];
    return rowsOf(datastore, dataclass, label, values).orderBy(label).slice(0, most, { signal });
  };
  if (text === '') return read(mostProposals);
  const beginning = await read(mostProposals, ':1 begin :2');
  const missing = mostProposals - beginning.length;
  if (missing === 0) return beginning;
  return [...beginning, ...(await read(missing, ':1 contains :2 and not (:1 begin :2)'))];
}

/** @param query a filter and its values; empty for all entities */
function rowsOf(
  datastore: ExplorerDatastore,
  dataclass: string,
  label: string,
  [filter, ...values]: readonly unknown[],
): Rows {
  const all = datastore.all(dataclass);
  const chosen = typeof filter === 'string' ? all.query(filter, ...values) : all;
  return chosen.select(label as never);
}

function namedOf(row: Row, label: string): Named {
  const text = memberOf(row, label);
  return { key: row.key, text: typeof text === 'string' && text !== '' ? text : String(row.key) };
}

/** Adds the keys where several entities have one label. */
function distinct(found: readonly Named[]): readonly Named[] {
  const isRepeated = ({ text }: Named): boolean =>
    found.filter((each) => each.text === text).length > 1;
  return found.map((each) =>
    isRepeated(each) ? { key: each.key, text: `${each.text} (${each.key})` } : each,
  );
}

/** A key as it is typed. */
function keyOf({ key, attributes }: ExplorerDataclass, text: string): Key {
  const isNumber = attributes.find(({ name }) => name === key)?.kind === 'number';
  return isNumber && text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text;
}

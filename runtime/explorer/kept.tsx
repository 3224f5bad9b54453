import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ExplorerDataclass } from './model.js';
import { addressOf, gridOf, type Place, relatedText } from './place.js';
import { type Kept, type State, store } from './store.js';
import { shownCount } from './values.js';

interface KeptSetsProps {
  readonly dataclass: ExplorerDataclass;
  readonly place: Place;
  readonly kept: State['kept'];
  readonly found: State['found'];
}

const operators = ['and', 'or', 'except'] as const;

/** Entity sets that stay when the grid shows something else, and that can be combined. */
export function KeptSets({ dataclass, place, kept, found }: KeptSetsProps): JSX.Element {
  const { name: ofDataclass } = dataclass;
  const own = kept.filter((each) => each.dataclass === ofDataclass);
  const keep = async (): Promise<void> => {
    if (found === undefined) return;
    const set = await found.set.set();
    store.keep({ dataclass: ofDataclass, name: nameOf(place), set, count: found.count });
  };
  return (
    <details class="calls kept">
      <summary>Kept sets{own.length > 0 && ` (${own.length})`}</summary>
      <button type="button" disabled={found === undefined} onClick={() => void store.attempt(keep)}>
        Keep what is shown
      </button>
      {own.length > 0 && (
        <ul aria-label="Kept sets">
          {own.map((each) => (
            <li key={each.id}>
              <a
                href={addressOf(gridOf(ofDataclass, { set: each.id }))}
                aria-current={each.id === place.set ? 'page' : undefined}
              >
                {each.name}
              </a>
              <span class="quiet">{shownCount(each.count)}</span>
              <button
                type="button"
                aria-label={`Release ${each.name}`}
                onClick={() => void store.attempt(() => store.release(each))}
              >
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
      {own.length > 1 && <Combination own={own} />}
    </details>
  );
}

/** Makes a set of two others. */
function Combination({ own }: { readonly own: readonly Kept[] }): JSX.Element {
  const [leftId, setLeftId] = useState('');
  const [rightId, setRightId] = useState('');
  const [operator, setOperator] = useState<(typeof operators)[number]>('and');
  const left = own.find(({ id }) => id === leftId) ?? own[0];
  const right = own.find(({ id }) => id === rightId) ?? own[1];
  const combine = async (): Promise<void> => {
    if (left === undefined || right === undefined) return;
    const combined = {
      and: left.set.and(right.set),
      or: left.set.or(right.set),
      except: left.set.minus(right.set),
    };
    const set = await combined[operator].set();
    const count = await set.count();
    const name = `(${left.name}) ${operator} (${right.name})`;
    const { dataclass } = left;
    const { id } = store.keep({ dataclass, name, set, count });
    store.go(gridOf(dataclass, { set: id }));
  };
  const choice = (
    label: string,
    chosen: Kept | undefined,
    choose: (id: string) => void,
  ): JSX.Element => (
    <select
      aria-label={label}
      value={chosen?.id}
      onInput={({ currentTarget }) => choose(currentTarget.value)}
    >
      {own.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  );
  return (
    <form
      aria-label="Combine two sets"
      onSubmit={(event) => {
        event.preventDefault();
        void store.attempt(combine);
      }}
    >
      {choice('One set', left, setLeftId)}
      <select
        aria-label="Combined by"
        value={operator}
        onInput={({ currentTarget: { value } }) => setOperator(value as typeof operator)}
      >
        {operators.map((each) => (
          <option key={each}>{each}</option>
        ))}
      </select>
      {choice('Another set', right, setRightId)}
      <button type="submit">Combine</button>
    </form>
  );
}

/** What a set of the entities of a place is called. */
function nameOf({ filter, of, order }: Place): string {
  const owner = of === undefined ? '' : relatedText(of);
  const ordered = order === '' ? '' : `by ${order}`;
  const name = [owner, filter, ordered].filter((each) => each !== '').join(', ');
  return name === '' ? 'all' : name;
}

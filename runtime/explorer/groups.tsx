import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { arrows, sorts } from './column-head.js';
import { dateParts } from '../filter/term.js';
import { selectionOf } from './grid.js';
import { filterOfGroup, type GroupTerm, groupTerms, textsOf, writtenPath } from './group-terms.js';
import {
  type ExplorerAttribute,
  type ExplorerDataclass,
  type ExplorerModel,
  isValue,
} from './model.js';
import { addressOf, type GroupsPlace, type Place, placeOfGrid } from './place.js';
import { type Opened, type State, store } from './store.js';
import { shownCount, shownValue } from './values.js';

/** More bars would not be read. */
const mostGroups = 200;

interface GroupsProps {
  readonly opened: Opened;
  readonly dataclass: ExplorerDataclass;
  readonly place: Place;
  readonly groups: GroupsPlace;
  readonly views: State['views'];
  readonly edits: State['edits'];
}

type Group = Readonly<Record<string, unknown>>;

interface Found {
  readonly keys: readonly GroupTerm[];
  readonly terms: readonly GroupTerm[];
  readonly rows: readonly Group[];
  /** The number of all groups. */
  readonly count: number;
}

/** The entities of a place in groups, with a bar for each value. */
export function Groups({
  opened,
  dataclass,
  place,
  groups,
  views,
  edits,
}: GroupsProps): JSX.Element {
  const { model, datastore } = opened;
  const [found, setFound] = useState<Found>();
  const asked = addressOf(placeOfGrid(place));
  useEffect(() => {
    const view = new AbortController();
    const { signal } = view;
    const read = async (): Promise<void> => {
      const [keys, terms] = [groups.keys, groups.terms].map((each) =>
        groupTerms(model, dataclass, each),
      );
      if (keys === undefined || terms === undefined || keys.length === 0) return;
      const selection = await selectionOf(datastore, place);
      let count = 0;
      const rows = await selection.groupBy(
        keys.map(({ text }) => text) as never,
        terms.map(({ text }) => text) as never,
        {
          ...(groups.order === '' ? {} : { orderBy: groups.order }),
          top: mostGroups,
          onCount: (all) => (count = all),
          signal,
        },
      );
      setFound({ keys, terms, rows, count });
    };
    setFound(undefined);
    store.set({ found: undefined });
    void store.attempt(read);
    return () => view.abort();
  }, [datastore, model, dataclass, asked, views, edits]);
  return (
    <div class="groups">
      <Choices {...{ model, dataclass, place, groups }} />
      {found !== undefined && <Bars {...{ place, groups, found }} />}
    </div>
  );
}

/** The place of the first groups of a dataclass that say something. */
export function placeOfGroups(
  model: ExplorerModel,
  dataclass: ExplorerDataclass,
  place: Place,
): Place {
  const { attributes } = dataclass;
  const key =
    attributes.find(({ rules, kind }) => rules.enum !== undefined || kind === 'boolean') ??
    attributes.find(({ kind }) => kind === 'one');
  const keys = key === undefined ? '' : (keysOf(model, key)[0] ?? '');
  return { ...placeOfGrid(place), groups: { keys, terms: 'count', order: '' } };
}

/** The keys that an attribute offers. */
function keysOf({ dataclasses }: ExplorerModel, attribute: ExplorerAttribute): readonly string[] {
  const { name, kind, target = '' } = attribute;
  if (kind === 'one') {
    const label = dataclasses.get(target)?.label;
    return [writtenPath(label === undefined ? [name] : [name, label])];
  }
  if (!isValue(attribute) || kind === 'object') return [];
  const path = writtenPath([name]);
  return kind === 'date' || kind === 'day'
    ? [...dateParts.map((part) => `${path}:${part}`), path]
    : [path];
}

/** What can be computed of an attribute, and drawn or read. */
function termsOf({ name, kind }: ExplorerAttribute): readonly string[] {
  const functions =
    kind === 'number' || kind === 'decimal' || kind === 'duration'
      ? ['sum', 'average', 'min', 'max']
      : kind === 'date' || kind === 'day'
        ? ['min', 'max']
        : [];
  return functions.map((each) => `${each}(${writtenPath([name])})`);
}

/** A list of those texts that are not empty. */
function listed(texts: readonly string[]): string {
  return texts.filter((each) => each !== '').join();
}

interface ChoicesProps extends Pick<GroupsProps, 'dataclass' | 'place' | 'groups'> {
  readonly model: ExplorerModel;
}

/** Chooses the keys, and what is computed. */
function Choices({ model, dataclass, place, groups }: ChoicesProps): JSX.Element {
  const { attributes } = dataclass;
  const keys = useMemo(() => attributes.flatMap((each) => keysOf(model, each)), [dataclass]);
  const terms = useMemo(() => ['count', ...attributes.flatMap(termsOf)], [dataclass]);
  const change = (next: Partial<GroupsPlace>): void =>
    store.go({ ...place, groups: { ...groups, order: '', ...next } });
  const [first = '', second = '', ...rest] = textsOf(model, dataclass, groups.keys);
  const shown = textsOf(model, dataclass, groups.terms);
  return (
    <div class="bar">
      <Choice
        label="Groups by"
        value={first}
        options={keys}
        choose={(key) => change({ keys: listed([key, key === '' ? '' : second, ...rest]) })}
      />
      <Choice
        label="and"
        value={second}
        options={keys.filter((each) => each !== first)}
        choose={(key) => change({ keys: listed([first, key]) })}
      />
      <Choice
        label="add"
        value=""
        options={terms.filter((each) => !shown.includes(each))}
        choose={(term) => change({ terms: listed([...shown, term]), order: groups.order })}
      />
      <a class="button" href={addressOf({ ...placeOfGrid(place), groups: undefined })}>
        Table
      </a>
    </div>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly string[];
  readonly choose: (option: string) => void;
}

function Choice({ label, value, options, choose }: ChoiceProps): JSX.Element {
  return (
    <label>
      {label}{' '}
      <select value={value} onChange={({ currentTarget }) => choose(currentTarget.value)}>
        <option value="">–</option>
        {(options.includes(value) || value === '' ? options : [value, ...options]).map((each) => (
          <option key={each} value={each}>
            {each}
          </option>
        ))}
      </select>
    </label>
  );
}

interface BarsProps extends Pick<GroupsProps, 'place' | 'groups'> {
  readonly found: Found;
}

function Bars({ place, groups, found }: BarsProps): JSX.Element {
  const { keys, terms, rows, count } = found;
  const scales = terms.map((term) => scaleOf(rows.map((row) => lengthOf(term, row[term.name]))));
  const without = (term: GroupTerm): string =>
    listed(terms.filter((each) => each !== term).map(({ text }) => text));
  return (
    <div class="bars">
      <table>
        <thead>
          <tr>
            {keys.map((each) => (
              <Head key={each.name} {...{ place, groups }} term={each} first="asc" />
            ))}
            {terms.map((each) => (
              <Head key={each.name} {...{ place, groups }} term={each} first="desc">
                {terms.length > 1 && (
                  <a
                    class="remove"
                    aria-label={`Remove ${each.text}`}
                    href={addressOf({
                      ...place,
                      groups: { ...groups, order: '', terms: without(each) },
                    })}
                  >
                    ×
                  </a>
                )}
              </Head>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {keys.map((each, at) => (
                <td key={each.name} class="key">
                  <KeyLink {...{ place, keys, row }} term={each} isLink={at === 0} />
                </td>
              ))}
              {terms.map((each, at) => (
                <Measure key={each.name} term={each} value={row[each.name]} scale={scales[at]} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {count === 0 && <p class="quiet">No groups.</p>}
      {count > rows.length && (
        <p class="quiet">
          The first {shownCount(rows.length)} of {shownCount(count)} groups.
        </p>
      )}
    </div>
  );
}

interface HeadProps extends Pick<GroupsProps, 'place' | 'groups'> {
  readonly term: GroupTerm;
  /** The direction of the first click. */
  readonly first: 'asc' | 'desc';
  readonly children?: preact.ComponentChildren;
}

function Head({ place, groups, term, first, children }: HeadProps): JSX.Element {
  const { text, aggregate } = term;
  const second = first === 'asc' ? 'desc' : 'asc';
  const direction = ([first, second] as const).find((each) => groups.order === `${text} ${each}`);
  const next = direction === undefined ? first : direction === first ? second : undefined;
  const order = next === undefined ? '' : `${text} ${next}`;
  return (
    <th
      scope="col"
      colSpan={aggregate === undefined ? 1 : 2}
      aria-sort={sorts[direction ?? 'none']}
    >
      <a href={addressOf({ ...place, groups: { ...groups, order } })}>
        {text}
        {arrows[direction ?? 'none']}
      </a>
      {children}
    </th>
  );
}

interface KeyProps {
  readonly place: Place;
  readonly keys: readonly GroupTerm[];
  readonly row: Group;
  readonly term: GroupTerm;
  /** Whether it leads to the entities of the group. */
  readonly isLink: boolean;
}

function KeyLink({ place, keys, row, term, isLink }: KeyProps): JSX.Element {
  const value = row[term.name];
  const shown = shownOf(term, value);
  const text = value === '' ? '""' : shown;
  const filter = isLink ? filterOfGroup(place.filter, keys, row) : undefined;
  if (filter === undefined) return <span title={text}>{text}</span>;
  return (
    <a title={filter} href={addressOf({ ...placeOfGrid(place), groups: undefined, filter })}>
      {text}
    </a>
  );
}

function shownOf({ kind, part }: GroupTerm, value: unknown): string {
  if (value === null || value === undefined) return '–';
  const shown = kind === 'duration' ? Math.round(Number(value)) : value;
  return shownValue({ kind: part === undefined ? (kind ?? 'object') : 'text' }, shown);
}

interface MeasureProps {
  readonly term: GroupTerm;
  readonly value: unknown;
  readonly scale: Scale | undefined;
}

/** A value, and its bar. */
function Measure({ term, value, scale }: MeasureProps): JSX.Element {
  const length = lengthOf(term, value);
  const bar = scale !== undefined && length !== undefined && length !== 0 && (
    <div class="fill" style={scale(length)} />
  );
  return (
    <>
      <td class="value">{shownOf(term, value)}</td>
      {scale === undefined ? <td class="none" /> : <td class="track">{bar}</td>}
    </>
  );
}

/** The value as a number that is exact enough for a bar; none for dates and texts. */
function lengthOf({ kind }: GroupTerm, value: unknown): number | undefined {
  if (value === null || (kind !== 'number' && kind !== 'decimal' && kind !== 'duration'))
    return undefined;
  return Number(value);
}

/** The place of a bar on its track. */
type Scale = (length: number) => { readonly left: string; readonly width: string };

function scaleOf(lengths: readonly (number | undefined)[]): Scale | undefined {
  const given = lengths.filter((each) => each !== undefined);
  const longest = Math.max(...given.map(Math.abs));
  if (given.length === 0 || longest === 0) return undefined;
  // The greatest numbers have no difference.
  const least = Math.min(0, ...given.map((each) => each / longest));
  const span = Math.max(0, ...given.map((each) => each / longest)) - least;
  const percent = (part: number): string => `${(part * 100) / span}%`;
  return (length) => ({
    left: percent(Math.min(0, length / longest) - least),
    width: percent(Math.abs(length / longest)),
  });
}

import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { RestError } from '../client/errors.js';
import { cellOf, ColumnHead } from './column-head.js';
import { type Column, columnsOf, columnsText, possibleColumns } from './columns.js';
import { memberOf } from './entity.js';
import type { ExplorerDataclass } from './model.js';
import { Pages } from './pages.js';
import { addressOf, gridOf, type Place, placeOfGrid } from './place.js';
import {
  type ExplorerDatastore,
  type Media,
  type Row,
  type Rows,
  type Selection,
  selectionOfSet,
} from './server.js';
import { type Opened, problemOf, type State, store } from './store.js';
import { shownValue } from './values.js';

const rowHeight = 30;

/** Browsers make no element that is much higher: beyond it, a step of the scroll bar passes several rows. */
const mostPixels = 15_000_000;

interface GridProps {
  readonly opened: Opened;
  readonly views: State['views'];
  readonly edits: State['edits'];
  readonly dataclass: ExplorerDataclass;
  readonly place: Place;
}

/** The entities of the grid, as an entity set of the server. */
interface Found {
  /** The address of the place that it was made for, and the session's data. */
  readonly shown: string;
  readonly datastore: ExplorerDatastore;
  readonly set: Selection;
  readonly count: number;
  /** Ends all reads of it. */
  readonly signal: AbortSignal;
}

/** The entities of a dataclass, or of a filter, as a table in which one scrolls through all of them. */
export function Grid({ opened, dataclass, place, views, edits }: GridProps): JSX.Element {
  const found = useFound(opened, place, views, dataclass.isLive);
  const { model } = opened;
  const columns = useMemo(
    () => columnsOf(model, dataclass, place.columns),
    [model, dataclass, place.columns],
  );
  const pages = usePages(found, columns);
  useEffect(() => {
    if (edits > 0) pages?.renew();
  }, [edits]);
  return (
    <div class="grid">
      {found === undefined && <p class="quiet">Reading…</p>}
      {found && columns.length === 0 && (
        <p class="quiet">A table can show none of its attributes.</p>
      )}
      {found && pages && (
        <Table count={found.count} {...{ opened, dataclass, place, columns, pages }} />
      )}
    </div>
  );
}

/**
 * Makes an entity set of what the place names, and releases it when another place is shown. Of a live
 * dataclass, it is made anew whenever its entities change.
 * @returns `undefined` while it is made, `null` if that did not succeed
 */
function useFound(
  { datastore }: Opened,
  place: Place,
  views: number,
  isLive: boolean,
): Found | undefined | null {
  const [found, setFound] = useState<Found | null>();
  const shown = addressOf({ ...placeOfGrid(place), columns: '' });
  useEffect(() => {
    const view = new AbortController();
    const { signal } = view;
    /** The set that is shown, and the one before it, of which rows may still be read. */
    const sets: Selection[] = [];
    const releaseAll = (but: number): void => {
      // Sets that nobody releases expire.
      for (const each of sets.splice(0, sets.length - but)) each.release().catch(() => undefined);
    };
    signal.addEventListener('abort', () => releaseAll(0));
    const take = async (chosen: Selection, isFollowed: boolean): Promise<void> => {
      const set = await chosen.set({ signal });
      sets.push(set);
      if (signal.aborted) releaseAll(0);
      const count = await set.count({ signal });
      store.set({ found: { set, count, isLive: isFollowed } });
      setFound({ shown, datastore, set, count, signal });
      releaseAll(2);
    };
    const find = async (): Promise<void> => {
      const chosen = await selectionOf(datastore, place);
      await take(chosen, false);
      if (isLive) void follow(chosen);
    };
    /** The network may be cut between the message of a change and the reading of the set. */
    const takeAgain = async (chosen: Selection): Promise<void> => {
      try {
        await take(chosen, true);
      } catch (error) {
        if (signal.aborted || !(error instanceof RestError) || error.status !== 0) throw error;
        await new Promise((resolve) => setTimeout(resolve, 1000));
        await takeAgain(chosen);
      }
    };
    /** Makes the set anew whenever something changes. */
    const follow = async (chosen: Selection): Promise<void> => {
      const changes = chosen.changes({ values: false, signal });
      try {
        while ((await changes.next()).done !== true) await takeAgain(chosen);
      } catch {
        // There may be too many entities; requests of the grid say what else is wrong.
        const { found } = store.state;
        if (!signal.aborted && found !== undefined) {
          store.set({ found: { ...found, isLive: false } });
        }
      } finally {
        // It has a set of its own.
        await changes.return(undefined);
      }
    };
    setFound(undefined);
    store.set({ found: undefined });
    void store.attempt(() =>
      find().catch((error: unknown) => {
        if (!signal.aborted) setFound(null);
        throw error;
      }),
    );
    return () => view.abort();
  }, [datastore, shown, views]);
  // Until the entities of another place or session are found, these are those before.
  const isOld = found && (found.shown !== shown || found.datastore !== datastore);
  return isOld ? undefined : found;
}

/** The rows of what was found, which are read anew for other columns. */
function usePages(found: Found | undefined | null, columns: readonly Column[]): Pages | undefined {
  const [, draw] = useState(0);
  const paths = columns.map(({ path }) => path);
  const rowsOf = ({ set }: Found): Rows => set.select(...(paths as never[]));
  const made = useMemo(() => {
    if (!found || paths.length === 0) return undefined;
    const pages = new Pages(rowsOf(found), found.signal, (error) => {
      draw((times) => times + 1);
      if (error !== undefined) store.set({ problem: problemOf(error) });
    });
    return { pages, set: found.set };
  }, [found?.signal, paths.join()]);
  useEffect(() => {
    if (!found || made === undefined || made.set === found.set) return;
    made.set = found.set;
    made.pages.renew(rowsOf(found));
  }, [found?.set]);
  return made?.pages;
}

/** The entities that a place names. */
export async function selectionOf(
  datastore: ExplorerDatastore,
  { dataclass = '', filter, order, of, set }: Place,
): Promise<Selection> {
  let chosen = datastore.all(dataclass);
  if (set !== undefined) chosen = selectionOfSet(chosen, set);
  if (of !== undefined) {
    const owner = await datastore.get(of.dataclass, of.key);
    if (owner === null) throw new Error(`There is no ${of.dataclass} with the key ${of.key}.`);
    chosen = owner[of.relation] as Selection;
  }
  if (filter !== '') chosen = chosen.query(filter);
  if (order !== '') chosen = chosen.orderBy(order);
  return chosen;
}

interface TableProps {
  readonly opened: Opened;
  readonly dataclass: ExplorerDataclass;
  readonly place: Place;
  readonly columns: readonly Column[];
  readonly count: number;
  readonly pages: Pages;
}

function Table({ opened, dataclass, place, columns, count, pages }: TableProps): JSX.Element {
  const frame = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const [active, setActive] = useState(0);
  useEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const scale = scaleOf(count, height);
  const first = Math.max(0, Math.min(count - 1, Math.floor(scale.rowAt(top))));
  const visible = Math.ceil(height / rowHeight) + 1;
  const last = Math.min(count - 1, first + visible);
  useEffect(() => {
    if (count > 0) pages.want(first, last);
  }, [pages, count, first, last]);

  const show = (row: number): void => {
    const next = Math.max(0, Math.min(count - 1, row));
    setActive(next);
    const element = frame.current;
    if (element === null) return;
    const fitting = Math.floor(height / rowHeight) - 2;
    if (next < first + 1) element.scrollTop = scale.topOf(next);
    else if (next > first + fitting) element.scrollTop = scale.topOf(next - fitting);
  };
  const open = (row: Row | null | undefined): void => {
    if (row === null || row === undefined) return;
    store.go({ ...place, entity: String(row.key) });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    // Links and menus inside of it have keys of their own.
    if (event.target !== event.currentTarget) return;
    const fitting = Math.floor(height / rowHeight) - 2;
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      PageDown: active + fitting,
      PageUp: active - fitting,
      Home: 0,
      End: count - 1,
    };
    const next = steps[event.key];
    if (next !== undefined) show(next);
    else if (event.key === 'Enter') open(pages.at(active));
    else return;
    event.preventDefault();
  };

  const numbers = Array.from(
    { length: Math.max(0, last - first + 1) },
    (_, index) => first + index,
  );
  return (
    <div
      ref={frame}
      class="frame"
      tabIndex={0}
      role="grid"
      aria-label={`Entities of ${dataclass.name}`}
      aria-rowcount={count + 1}
      aria-colcount={columns.length + 1}
      aria-activedescendant={`row-${active}`}
      onKeyDown={onKeyDown}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
    >
      <div class="extent" style={{ height: `${scale.pixels}px` }}>
        <HeaderRow {...{ opened, dataclass, columns, place }} />
        <div class="window" style={{ top: `${rowHeight + scale.offset(top, first)}px` }}>
          {numbers.map((number) => (
            <BodyRow
              key={number}
              {...{ number, columns, place }}
              row={pages.at(number)}
              isActive={number === active}
              open={() => {
                setActive(number);
                open(pages.at(number));
              }}
            />
          ))}
          {count === 0 && <p class="quiet">No entities.</p>}
        </div>
      </div>
    </div>
  );
}

/** How positions of the scroll bar and rows belong together. */
interface Scale {
  /** Height of all rows and the header. */
  readonly pixels: number;
  readonly rowAt: (top: number) => number;
  readonly topOf: (row: number) => number;
  /** The distance of the window of rows from the header, in pixels. */
  readonly offset: (top: number, first: number) => number;
}

function scaleOf(count: number, height: number): Scale {
  const whole = (count + 1) * rowHeight + 8;
  if (whole <= mostPixels) {
    return {
      pixels: whole,
      rowAt: (top) => top / rowHeight,
      topOf: (row) => row * rowHeight,
      offset: (_top, first) => first * rowHeight,
    };
  }
  const lastRow = count + 2 - height / rowHeight;
  const lastTop = mostPixels - height;
  return {
    pixels: mostPixels,
    rowAt: (top) => (top / lastTop) * lastRow,
    topOf: (row) => (row / lastRow) * lastTop,
    offset: (top) => top,
  };
}

function HeaderRow({
  opened,
  dataclass,
  columns,
  place,
}: Omit<TableProps, 'count' | 'pages'>): JSX.Element {
  const others = possibleColumns(opened.model, dataclass).filter(
    ({ path }) => !columns.some((each) => each.path === path),
  );
  return (
    <div class="row head" role="row" aria-rowindex={1}>
      {columns.map(({ path }, at) => (
        <ColumnHead key={path} {...{ opened, columns, at, place }} />
      ))}
      {others.length > 0 && (
        <span class="cell add" role="columnheader">
          <select
            aria-label="Add a column"
            value=""
            onInput={({ currentTarget }) => {
              const added = others.filter(({ path }) => path === currentTarget.value);
              store.go({ ...place, columns: columnsText([...columns, ...added]) });
            }}
          >
            <option value="">+</option>
            {others.map(({ path }) => (
              <option key={path}>{path}</option>
            ))}
          </select>
        </span>
      )}
    </div>
  );
}

interface BodyRowProps {
  readonly number: number;
  readonly row: Row | null | undefined;
  readonly columns: readonly Column[];
  readonly place: Place;
  readonly isActive: boolean;
  readonly open: () => void;
}

function BodyRow({ number, row, columns, place, isActive, open }: BodyRowProps): JSX.Element {
  const isOpen = row !== null && row !== undefined && place.entity === String(row.key);
  const names = ['row', ...(isActive ? ['active'] : []), ...(isOpen ? ['open'] : [])];
  return (
    <div
      id={`row-${number}`}
      class={names.join(' ')}
      role="row"
      aria-rowindex={number + 2}
      aria-selected={isOpen}
      onClick={open}
    >
      {row === null ? (
        <span class="cell quiet" role="gridcell">
          deleted
        </span>
      ) : (
        columns.map((column) => <Cell key={column.path} {...{ row, column }} />)
      )}
    </div>
  );
}

function Cell({
  row,
  column,
}: {
  readonly row: Row | undefined;
  readonly column: Column;
}): JSX.Element {
  const { hops, shown } = column;
  /** The entities along the path, which begin with the row itself. */
  const along = hops
    .slice(0, -1)
    .reduce<readonly (Row | null | undefined)[]>(
      (owners, { name }) => [...owners, memberOf(owners.at(-1), name) as Row | null | undefined],
      [row],
    );
  const owner = along.at(-1);
  const value = memberOf(owner, shown.name);
  const target = hops.at(-2)?.target;
  if (shown.kind === 'image')
    return <Thumbnail {...{ column }} image={value as Media | undefined} />;
  const text = row === undefined ? '…' : shownValue(shown, value);
  const isLink = target !== undefined && owner !== null && owner !== undefined;
  return (
    <span {...cellOf(column)} role="gridcell" title={text}>
      {isLink ? (
        <a
          href={addressOf(gridOf(target, { entity: String(owner.key) }))}
          onClick={(event) => event.stopPropagation()}
        >
          {text === '' ? String(owner.key) : text}
        </a>
      ) : (
        text
      )}
    </span>
  );
}

function Thumbnail({
  column,
  image,
}: {
  readonly column: Column;
  readonly image: Pick<Media, 'url'> | undefined;
}): JSX.Element {
  const url = image?.url ?? null;
  return (
    <span {...cellOf(column)} role="gridcell">
      {url !== null && <img src={url} alt="" loading="lazy" />}
    </span>
  );
}

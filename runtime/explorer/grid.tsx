import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import {
  type ExplorerAttribute,
  type ExplorerDataclass,
  type ExplorerModel,
  isValue,
} from './model.js';
import { Pages } from './pages.js';
import { addressOf, gridOf, type Place, placeOfGrid } from './place.js';
import { type ExplorerDatastore, type Row, type Rows, type Selection } from './server.js';
import { type Opened, problemOf, type State, store } from './store.js';
import { isRightAligned, shownValue } from './values.js';

const rowHeight = 30;

/** Browsers make no element that is much higher: beyond it, a step of the scroll bar passes several rows. */
const mostPixels = 15_000_000;

/** More columns would not be read; the panel shows all attributes. */
const mostColumns = 12;

/** A column: an attribute, or the label of a to-one relation. */
interface Column {
  readonly attribute: ExplorerAttribute;
  /** The path of its value in a row. */
  readonly path: string;
  /** The attribute at the end of the path. */
  readonly shown: ExplorerAttribute;
}

interface GridProps {
  readonly opened: Opened;
  readonly views: State['views'];
  readonly edits: State['edits'];
  readonly dataclass: ExplorerDataclass;
  readonly place: Place;
}

/** What the grid knows of its entities. */
interface Found {
  /** Another one for each view, so that the table begins anew. */
  readonly id: number;
  readonly columns: readonly Column[];
  readonly count: number;
  readonly pages: Pages;
}

let lastFound = 0;

/** The entities of a dataclass, or of a filter, as a table in which one scrolls through all of them. */
export function Grid({ opened, dataclass, place, views, edits }: GridProps): JSX.Element {
  const found = useFound(opened, dataclass, place, views);
  useEffect(() => {
    if (edits > 0) found?.pages.forget();
  }, [edits]);
  return (
    <div class="grid">
      {found === undefined && <p class="quiet">Reading…</p>}
      {found && <Table key={found.id} {...{ dataclass, place, found }} />}
    </div>
  );
}

/**
 * Makes an entity set of what the place names, and releases it when another place is shown.
 * @returns `undefined` while it is made, `null` if that did not succeed
 */
function useFound(
  { datastore, model }: Opened,
  dataclass: ExplorerDataclass,
  place: Place,
  views: number,
): Found | undefined | null {
  const [found, setFound] = useState<Found | null>();
  const [, draw] = useState(0);
  const shown = addressOf(placeOfGrid(place));
  useEffect(() => {
    const view = new AbortController();
    const { signal } = view;
    const find = async (): Promise<void> => {
      const chosen = await selectionOf(datastore, place);
      const set = await chosen.set({ signal });
      signal.addEventListener('abort', () => {
        // Sets that nobody releases expire.
        set.release().catch(() => undefined);
      });
      const columns = columnsOf(model, dataclass);
      const rows = set.select(...columns.map(({ path }) => path as never)) as unknown as Rows;
      const count = await set.count({ signal });
      const pages = new Pages(rows, signal, (error) => {
        draw((times) => times + 1);
        if (error !== undefined) store.set({ problem: problemOf(error) });
      });
      store.set({ count });
      setFound({ id: (lastFound += 1), columns, count, pages });
    };
    setFound(undefined);
    store.set({ count: undefined });
    void store.attempt(() =>
      find().catch((error: unknown) => {
        if (!signal.aborted) setFound(null);
        throw error;
      }),
    );
    return () => {
      view.abort();
    };
  }, [datastore, model, dataclass, shown, views]);
  return found;
}

/** The entities that a place names. */
export async function selectionOf(
  datastore: ExplorerDatastore,
  { dataclass = '', filter, order, of }: Place,
): Promise<Selection> {
  let chosen = datastore.all(dataclass);
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
  readonly dataclass: ExplorerDataclass;
  readonly place: Place;
  readonly found: Found;
}

function Table({ dataclass, place, found }: TableProps): JSX.Element {
  const { columns, count, pages } = found;
  const frame = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const [active, setActive] = useState(0);
  useEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => {
      setHeight(element.clientHeight);
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
    };
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
      aria-colcount={columns.length}
      aria-activedescendant={`row-${active}`}
      onKeyDown={onKeyDown}
      onScroll={(event) => {
        setTop(event.currentTarget.scrollTop);
      }}
    >
      <div class="extent" style={{ height: `${scale.pixels}px` }}>
        <HeaderRow {...{ columns, place }} />
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

function HeaderRow({ columns, place }: Pick<BodyRowProps, 'columns' | 'place'>): JSX.Element {
  return (
    <div class="row head" role="row" aria-rowindex={1}>
      {columns.map(({ attribute, path, shown }) => {
        const direction = directionOf(place.order, path);
        const next = direction === 'asc' ? `${path} desc` : direction === 'desc' ? '' : path;
        return (
          <a
            key={path}
            class={cellClass(shown)}
            role="columnheader"
            aria-sort={
              direction === undefined ? 'none' : direction === 'asc' ? 'ascending' : 'descending'
            }
            href={addressOf({ ...place, order: next })}
          >
            {attribute.name}
            {direction === undefined ? '' : direction === 'asc' ? ' ↑' : ' ↓'}
          </a>
        );
      })}
    </div>
  );
}

function directionOf(order: string, path: string): 'asc' | 'desc' | undefined {
  const [ordered, direction = 'asc'] = order.trim().split(/\s+/);
  if (ordered !== path) return undefined;
  return direction.toLowerCase() === 'desc' ? 'desc' : 'asc';
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
  const { attribute, shown } = column;
  const related =
    attribute.kind === 'one' ? (row?.[attribute.name] as Row | null | undefined) : row;
  const value = related?.[shown.name];
  const text = row === undefined ? '…' : shownValue(shown, value);
  const isLink = attribute.kind === 'one' && related !== null && related !== undefined;
  return (
    <span class={cellClass(shown)} role="gridcell" title={text}>
      {isLink ? (
        <a
          href={addressOf(gridOf(attribute.target ?? '', { entity: String(related.key) }))}
          onClick={(event) => {
            event.stopPropagation();
          }}
        >
          {text === '' ? String(related.key) : text}
        </a>
      ) : (
        text
      )}
    </span>
  );
}

function cellClass({ kind }: ExplorerAttribute): string {
  return isRightAligned(kind) ? `cell right ${kind}` : `cell ${kind}`;
}

/** Values, and names of related entities: images and lists are in the panel, and UUIDs say nothing to people. */
function columnsOf(
  { dataclasses }: ExplorerModel,
  dataclass: ExplorerDataclass,
): readonly Column[] {
  return dataclass.attributes
    .flatMap((attribute): readonly Column[] => {
      if (attribute.kind === 'uuid' && dataclass.label !== undefined) return [];
      if (isValue(attribute)) return [{ attribute, path: attribute.name, shown: attribute }];
      if (attribute.kind !== 'one') return [];
      const target = dataclasses.get(attribute.target ?? '');
      const name = target?.label ?? target?.key;
      const shown = target?.attributes.find((each) => each.name === name);
      return shown === undefined
        ? []
        : [{ attribute, path: `${attribute.name}.${shown.name}`, shown }];
    })
    .slice(0, mostColumns);
}

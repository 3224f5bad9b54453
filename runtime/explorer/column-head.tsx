import type { HTMLAttributes, JSX, TargetedPointerEvent } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { type Column, columnsText } from './columns.js';
import { Field } from './field.js';
import { comparisonsOf, narrowed, valueText } from './filter-text.js';
import { addressOf, type Place, placeOfGrid } from './place.js';
import { type Opened, problemOf, store } from './store.js';
import { cellClass } from './values.js';
import { type Typed, valueOf } from './written.js';

interface ColumnHeadProps {
  readonly opened: Opened;
  readonly columns: readonly Column[];
  /** Its position among the columns. */
  readonly at: number;
  readonly place: Place;
}

const leastWidth = 40;
/** How much wider an arrow key makes a column, in pixels. */
const step = 10;

/** How an order is shown, and said to those who do not see it. */
export const arrows = { asc: ' ↑', desc: ' ↓', none: '' } as const;
export const sorts = { asc: 'ascending', desc: 'descending', none: 'none' } as const;

/** The head of a column: orders by it, and opens what else can be done with it. */
export function ColumnHead({ opened, columns, at, place }: ColumnHeadProps): JSX.Element | null {
  const [isOpen, setOpen] = useState(false);
  const column = columns[at];
  if (column === undefined) return null;
  const { path, text, hops, shown } = column;
  const direction = directionOf(place.order, text);
  const next = direction === 'asc' ? `${text} desc` : text;
  const order = direction === 'desc' ? '' : next;
  const name = hops[0]?.name ?? path;
  return (
    <div
      {...cellOf(column)}
      role="columnheader"
      aria-sort={sorts[direction ?? 'none']}
      onKeyDown={(event) => {
        // The rows move by the same keys.
        event.stopPropagation();
        if (event.key === 'Escape') setOpen(false);
      }}
      onFocusOut={({ currentTarget, relatedTarget }) => {
        if (!(relatedTarget instanceof Node && currentTarget.contains(relatedTarget))) {
          setOpen(false);
        }
      }}
    >
      {isOrderable(shown) ? (
        <a class="order" href={addressOf({ ...place, order })} title={path}>
          {name}
          {arrows[direction ?? 'none']}
        </a>
      ) : (
        <span class="order">{name}</span>
      )}
      <button
        type="button"
        class="more"
        aria-label={`Column ${path}`}
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        ⋮
      </button>
      <Edge {...{ columns, at, place }} />
      {isOpen && (
        <div class="menu" role="group" aria-label={`Column ${path}`}>
          <ColumnFilter {...{ opened, column, place }} />
          <a href={moved(columns, at, at - 1, place)} aria-disabled={at === 0}>
            Move left
          </a>
          <a href={moved(columns, at, at + 1, place)} aria-disabled={at === columns.length - 1}>
            Move right
          </a>
          <a href={moved(columns, at, undefined, place)} aria-disabled={columns.length === 1}>
            Hide
          </a>
        </div>
      )}
    </div>
  );
}

/** The class and the width of a cell. */
export function cellOf({ shown, width }: Column): Pick<HTMLAttributes, 'class' | 'style'> {
  const style = width === undefined ? {} : { style: { flexBasis: `${width}px` } };
  return { class: cellClass(shown), ...style };
}

function isOrderable({ kind }: Column['shown']): boolean {
  return kind !== 'object' && kind !== 'image';
}

function directionOf(order: string, text: string): 'asc' | 'desc' | undefined {
  const [, ordered, direction = ''] = /^(.*?)(?:\s+(asc|desc))?$/is.exec(order.trim()) ?? [];
  if (ordered !== text) return undefined;
  return direction.toLowerCase() === 'desc' ? 'desc' : 'asc';
}

/** The address with a column at another position, or without it. */
function moved(
  columns: readonly Column[],
  from: number,
  to: number | undefined,
  place: Place,
): string {
  const all = [...columns];
  const taken = all.splice(from, 1);
  if (to !== undefined) all.splice(Math.max(0, to), 0, ...taken);
  return addressOf({ ...place, columns: columnsText(all.length === 0 ? columns : all) });
}

/** The right edge of a column, which changes its width: it is dragged, or moved by the arrow keys. */
function Edge({ columns, at, place }: Omit<ColumnHeadProps, 'opened'>): JSX.Element {
  const edge = useRef<HTMLSpanElement>(null);
  const widthNow = (): number => edge.current?.parentElement?.offsetWidth ?? leastWidth;
  const widen = (width: number): void => {
    const all = columns.map((each, index) =>
      index === at ? { ...each, width: Math.max(leastWidth, Math.round(width)) } : each,
    );
    store.go({ ...place, columns: columnsText(all) });
  };
  const onPointerDown = (event: TargetedPointerEvent<HTMLSpanElement>): void => {
    const { currentTarget: target, pointerId, clientX: from } = event;
    const width = widthNow();
    target.setPointerCapture(pointerId);
    target.onpointerup = ({ clientX }) => {
      target.onpointerup = null;
      if (clientX !== from) widen(width + clientX - from);
    };
    event.preventDefault();
  };
  return (
    <span
      ref={edge}
      class="edge"
      role="separator"
      tabIndex={0}
      aria-orientation="vertical"
      aria-label={`Width of ${columns[at]?.path ?? ''}`}
      aria-valuenow={columns[at]?.width ?? leastWidth}
      onPointerDown={onPointerDown}
      onKeyDown={({ key }) => {
        if (key === 'ArrowRight') widen(widthNow() + step);
        if (key === 'ArrowLeft') widen(widthNow() - step);
      }}
    />
  );
}

/** Adds a condition for a column to the filter. */
function ColumnFilter({
  opened,
  column,
  place,
}: {
  readonly opened: Opened;
  readonly column: Column;
  readonly place: Place;
}): JSX.Element {
  const { path, text, shown } = column;
  const comparisons = comparisonsOf(shown);
  const [chosen, setChosen] = useState(comparisons[0]);
  const [typed, setTyped] = useState<Typed>('');
  const [problem, setProblem] = useState<string>();
  const add = (): void => {
    if (chosen === undefined) return;
    try {
      const value = chosen.hasValue ? ` ${valueText(shown, valueOf(shown, typed))}` : '';
      const condition = `${text} ${chosen.text}${value}`;
      store.go({ ...placeOfGrid(place), filter: narrowed(place.filter, [condition]) });
    } catch (error) {
      setProblem(problemOf(error));
    }
  };
  return (
    <form
      aria-label={`Filter by ${path}`}
      onSubmit={(event) => {
        event.preventDefault();
        add();
      }}
    >
      <select
        aria-label="Comparison"
        value={chosen?.name}
        onInput={({ currentTarget }) =>
          setChosen(comparisons.find(({ name }) => name === currentTarget.value))
        }
      >
        {comparisons.map(({ name }) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      {chosen?.hasValue === true && (
        <label>
          Value
          <Field
            opened={opened}
            id="column-value"
            attribute={{ ...shown, isMandatory: false }}
            typed={typed}
            problem={problem}
            change={setTyped}
          />
        </label>
      )}
      <button type="submit">Filter</button>
    </form>
  );
}

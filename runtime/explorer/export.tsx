import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { columnsAt, exportRows, type Format, formats, importableColumns } from './export-rows.js';
import { columnsOf } from './columns.js';
import { selectionOf } from './grid.js';
import type { ExplorerDataclass } from './model.js';
import type { Place } from './place.js';
import { savedFile } from './saved-file.js';
import { type Opened, store } from './store.js';
import { shownCount } from './values.js';

interface ExportProps {
  readonly opened: Opened;
  readonly dataclass: ExplorerDataclass;
  readonly place: Place;
}

/** Writes the entities of the table into a file. */
export function Export({ opened, dataclass, place }: ExportProps): JSX.Element {
  const { model, bulk } = opened;
  const [format, setFormat] = useState<Format>('csv');
  const [isImportable, setImportable] = useState(false);
  const [rows, setRows] = useState<number>();
  const [state, setState] = useState<'ready' | 'running' | 'done'>('ready');
  const running = useRef<AbortController>();
  useEffect(() => () => running.current?.abort(), []);

  const write = async (): Promise<void> => {
    const columns = isImportable
      ? importableColumns(model, dataclass)
      : columnsAt(
          model,
          dataclass,
          columnsOf(model, dataclass, place.columns).map(({ path }) => path),
        );
    // A browser asks for a file only right after a click.
    const file = await savedFile(`${dataclass.name}.${format}`, formats[format].type);
    const work = new AbortController();
    running.current = work;
    store.set({ problem: undefined });
    setRows(0);
    setState('running');
    try {
      const selection = await selectionOf(bulk, place);
      const options = { signal: work.signal, written: setRows };
      await exportRows(selection, columns, format, file, options);
      setState('done');
    } catch (error) {
      setState('ready');
      setRows(undefined);
      // The file may be what has failed.
      await file.abort().catch(() => undefined);
      throw error;
    }
  };
  return (
    <details class="calls">
      <summary>Export</summary>
      <form
        class="transfer"
        aria-label="Export"
        onSubmit={(event) => {
          event.preventDefault();
          void store.attempt(write);
        }}
      >
        <label>
          Columns{' '}
          <select onChange={({ currentTarget }) => setImportable(currentTarget.value === 'all')}>
            <option value="shown">of the table</option>
            <option value="all">all that can be imported</option>
          </select>
        </label>
        <label>
          Format{' '}
          <select
            value={format}
            onChange={({ currentTarget }) => setFormat(currentTarget.value as Format)}
          >
            <option value="csv">CSV</option>
            <option value="json">JSON</option>
          </select>
        </label>
        {/* Two elements: one that changes while it is clicked would submit the form. */}
        {state === 'running' ? (
          <button key="stop" type="button" onClick={() => running.current?.abort()}>
            Stop
          </button>
        ) : (
          <button key="start" type="submit">
            Export
          </button>
        )}
        <output>
          {rows !== undefined && `${shownCount(rows)} rows${state === 'done' ? ' written' : '…'}`}
        </output>
      </form>
    </details>
  );
}

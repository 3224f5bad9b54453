import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { csvRow, guarded } from './csv.js';
import {
  type FileRow,
  type ImportColumn,
  importColumns,
  type Imported,
  importRows,
  reasonHead,
  type RefusedRow,
  rowsOf,
} from './import-rows.js';
import type { ExplorerDataclass } from './model.js';
import { download } from './saved-file.js';
import { type Opened, store } from './store.js';
import { shownCount } from './values.js';

const previewRows = 5;

/** More refused rows would not be read; the file that can be downloaded has all. */
const shownRefused = 100;

/** A file, as far as it is known before it is imported. */
interface Chosen {
  readonly file: File;
  readonly columns: readonly ImportColumn[];
  readonly first: readonly FileRow[];
}

interface ImportProps {
  readonly opened: Opened;
  readonly dataclass: ExplorerDataclass;
}

/** Creates and changes entities from a CSV file, by the rules of the model. */
export function Import({ opened, dataclass }: ImportProps): JSX.Element {
  const [chosen, setChosen] = useState<Chosen>();
  const choose = async (file: File | undefined): Promise<void> => {
    setChosen(undefined);
    store.set({ problem: undefined });
    if (file !== undefined) setChosen(await chosenOf(dataclass, file));
  };
  return (
    <details class="calls">
      <summary>Import</summary>
      <div class="transfer">
        <label>
          CSV file{' '}
          <input
            type="file"
            accept=".csv,.tsv,.txt,text/csv"
            onChange={({ currentTarget }) =>
              void store.attempt(() => choose(currentTarget.files?.[0]))
            }
          />
        </label>
      </div>
      {chosen !== undefined && <ChosenFile key={chosen.file} {...{ opened, dataclass, chosen }} />}
    </details>
  );
}

async function chosenOf(dataclass: ExplorerDataclass, file: File): Promise<Chosen> {
  const rows: FileRow[] = [];
  for await (const each of rowsOf(file)) {
    rows.push(each);
    if (rows.length > previewRows) break;
  }
  const [heads, ...first] = rows;
  if (heads === undefined) throw new Error('The file is empty: its first row names attributes.');
  return { file, columns: importColumns(dataclass, heads.cells), first };
}

interface ChosenFileProps extends ImportProps {
  readonly chosen: Chosen;
}

/** What an import has done so far. */
interface Progress {
  readonly imported: Imported;
  readonly bytes: number;
  readonly isOver: boolean;
}

function ChosenFile({ opened, dataclass, chosen }: ChosenFileProps): JSX.Element {
  const { file, columns, first } = chosen;
  const uniques = columns.flatMap(({ attribute }) =>
    attribute?.isKey === true || attribute?.isUnique === true ? [attribute] : [],
  );
  const [match, setMatch] = useState(uniques.find(({ isKey }) => isKey)?.name ?? '');
  const [isLeftOut, setLeftOut] = useState(false);
  const [progress, setProgress] = useState<Progress>();
  const running = useRef<AbortController>();
  useEffect(() => () => running.current?.abort(), []);
  const wrong = columns.filter(({ problem }) => problem !== undefined);
  const isRunning = progress?.isOver === false;
  const stoppedAt = progress?.imported.stoppedAt;

  const run = async (): Promise<void> => {
    const work = new AbortController();
    running.current = work;
    store.set({ problem: undefined });
    const from = stoppedAt ?? 1;
    const refused = progress?.imported.refused.filter(({ number }) => number < from) ?? [];
    const stored = stoppedAt === undefined ? 0 : (progress?.imported.stored ?? 0);
    const imported: Imported = { stored, refused: stoppedAt === undefined ? [] : refused };
    let bytes = 0;
    const show = (isOver: boolean): void => setProgress({ imported, bytes, isOver });
    const { datastore } = opened;
    const { signal } = work;
    const options = {
      ...{ datastore, dataclass, columns, signal, from },
      match: match === '' ? undefined : match,
      stored: () => show(false),
    };
    try {
      show(false);
      const rows = rowsOf(file, (read) => (bytes = read));
      // The heads.
      await rows.next();
      await importRows(rows, options, imported);
    } finally {
      show(true);
      store.set({ views: store.state.views + 1 });
    }
  };
  return (
    <>
      <Preview {...{ columns, first }} />
      <form
        class="transfer"
        aria-label="Import"
        onSubmit={(event) => {
          event.preventDefault();
          void store.attempt(run);
        }}
      >
        {uniques.length > 0 && (
          <label>
            Each row{' '}
            <select value={match} onChange={({ currentTarget }) => setMatch(currentTarget.value)}>
              <option value="">creates an entity</option>
              {uniques.map(({ name }) => (
                <option key={name} value={name}>
                  changes the entity with its {name}, or creates one
                </option>
              ))}
            </select>
          </label>
        )}
        {wrong.length > 0 && (
          <label class="problem">
            <input
              type="checkbox"
              onChange={({ currentTarget }) => setLeftOut(currentTarget.checked)}
            />{' '}
            leave out {wrong.map(({ head }) => head).join(', ')}
          </label>
        )}
        {/* Two elements: one that changes while it is clicked would submit the form. */}
        {isRunning ? (
          <button key="stop" type="button" onClick={() => running.current?.abort()}>
            Stop
          </button>
        ) : (
          <button
            key="start"
            type="submit"
            class="primary"
            disabled={wrong.length > 0 && !isLeftOut}
          >
            {stoppedAt === undefined ? 'Import' : `Go on at row ${stoppedAt}`}
          </button>
        )}
        {isRunning && (
          <progress aria-label="Read of the file" max={file.size} value={progress.bytes} />
        )}
        {progress !== undefined && <output>{summary(progress)}</output>}
      </form>
      {progress?.isOver === true && progress.imported.refused.length > 0 && (
        <Refused
          {...{ columns, file }}
          rows={progress.imported.refused.toSorted((a, b) => a.number - b.number)}
        />
      )}
    </>
  );
}

function summary({ imported, isOver }: Progress): string {
  const { stored, refused, stoppedAt } = imported;
  const end = !isOver ? '…' : stoppedAt === undefined ? '' : `, stopped before row ${stoppedAt}`;
  return `${shownCount(stored)} stored, ${shownCount(refused.length)} refused${end}`;
}

function Preview({ columns, first }: Pick<Chosen, 'columns' | 'first'>): JSX.Element {
  return (
    <div class="rows">
      <table aria-label="First rows of the file">
        <thead>
          <tr>
            <th scope="col">row</th>
            {columns.map(({ head, problem }, at) => (
              <th key={at} scope="col">
                {head}
                {problem !== undefined && <small class="problem"> {problem}</small>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {first.map(({ number, cells }) => (
            <tr key={number}>
              <td>{number}</td>
              {cells.map((text, at) => (
                <td key={at}>{text}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface RefusedProps extends Pick<Chosen, 'columns' | 'file'> {
  readonly rows: readonly RefusedRow[];
}

/** The rows that were not stored, and a file of them that can be corrected and imported. */
function Refused({ columns, file, rows }: RefusedProps): JSX.Element {
  const save = (): void => {
    // A file that was refused before has reasons already.
    const isKept = (_: unknown, at: number): boolean => columns[at]?.head !== reasonHead;
    const heads = columns.filter(isKept).map(({ head }) => guarded(head));
    const lines = rows.map(({ cells, reason }) => {
      const kept = columns.map((_, at) => cells[at] ?? '').filter(isKept);
      return csvRow([...kept, ...cells.slice(columns.length), guarded(reason)]);
    });
    const parts = ['\uFEFF', csvRow([...heads, reasonHead]), ...lines];
    download(`refused ${file.name}`, new Blob(parts, { type: 'text/csv' }));
  };
  return (
    <div class="rows">
      <p>
        <button type="button" onClick={save}>
          Download the refused rows
        </button>
      </p>
      <table aria-label="Refused rows">
        <thead>
          <tr>
            <th scope="col">row</th>
            <th scope="col">reason</th>
            <th scope="col">values</th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, shownRefused).map(({ number, cells, reason }) => (
            <tr key={number}>
              <td>{number}</td>
              <td class="problem">{reason}</td>
              <td>{cells.join(' · ')}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > shownRefused && (
        <p class="quiet">
          The first {shownCount(shownRefused)} of {shownCount(rows.length)}.
        </p>
      )}
    </div>
  );
}

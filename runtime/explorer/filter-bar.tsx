import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Completion, completionOf } from './completion.js';
import type { ExplorerDataclass, ExplorerModel } from './model.js';
import { addressOf, type Place, placeOfGrid } from './place.js';
import { store } from './store.js';

interface FilterBarProps {
  readonly model: ExplorerModel;
  readonly dataclass: ExplorerDataclass;
  readonly place: Place;
  readonly problem: string | undefined;
}

const nothing: Completion = { from: 0, names: [] };

/** The text of `$filter`, which can be edited, and whose entities the grid shows. */
export function FilterBar({ model, dataclass, place, problem }: FilterBarProps): JSX.Element {
  const { filter, of, set } = place;
  const related = of === undefined ? undefined : `${of.relation} of ${of.dataclass} ${of.key}`;
  const source = set === undefined ? related : 'a kept set';
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(filter);
  const [{ from, names }, setCompletion] = useState(nothing);
  /** The position of the marked proposal; -1 for none. */
  const [marked, setMarked] = useState(-1);
  const fault = filterProblem(problem);
  useEffect(() => {
    setText(filter);
    setCompletion(nothing);
  }, [dataclass, filter]);
  useEffect(() => {
    if (fault === undefined) return;
    input.current?.focus();
    input.current?.setSelectionRange(fault.at - 1, fault.at);
  }, [problem]);

  const complete = (name: string): void => {
    const element = input.current;
    if (element === null) return;
    const end = element.selectionStart ?? text.length;
    const completed = text.slice(0, from) + name;
    setText(completed + text.slice(end));
    setCompletion(nothing);
    element.focus();
    // The text is there after the next drawing.
    requestAnimationFrame(() => {
      element.setSelectionRange(completed.length, completed.length);
    });
  };
  const onInput = (element: HTMLInputElement): void => {
    setText(element.value);
    setMarked(-1);
    const at = element.selectionStart ?? element.value.length;
    setCompletion(completionOf(model, dataclass, element.value, at));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (names.length === 0) return;
    const chosen = names[marked];
    if (event.key === 'ArrowDown') setMarked((marked + 1) % names.length);
    else if (event.key === 'ArrowUp') setMarked((marked + names.length) % names.length);
    else if (event.key === 'Escape') setCompletion(nothing);
    else if (event.key === 'Tab' && chosen === undefined) return;
    else if ((event.key === 'Enter' || event.key === 'Tab') && chosen !== undefined)
      complete(chosen);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <form
      class="bar"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        setCompletion(nothing);
        store.go({ ...placeOfGrid(place), filter: text.trim() });
      }}
    >
      {source !== undefined && (
        <span class="chip">
          {source}{' '}
          <a
            href={addressOf({ ...place, of: undefined, set: undefined })}
            aria-label={`Show all of ${dataclass.name}`}
          >
            ×
          </a>
        </span>
      )}
      <div class="typed">
        <input
          ref={input}
          class="filter"
          aria-label="Filter"
          role="combobox"
          aria-autocomplete="list"
          aria-expanded={names.length > 0}
          aria-controls="proposals"
          aria-activedescendant={marked < 0 ? undefined : `proposal-${marked}`}
          aria-invalid={fault !== undefined}
          placeholder={`Filter, such as ${example(dataclass)}`}
          spellcheck={false}
          autocomplete="off"
          value={text}
          onInput={({ currentTarget }) => {
            onInput(currentTarget);
          }}
          onKeyDown={onKeyDown}
          onBlur={() => {
            setCompletion(nothing);
          }}
        />
        <ul id="proposals" role="listbox" aria-label="Attributes" hidden={names.length === 0}>
          {names.map((name, index) => (
            <li
              key={name}
              id={`proposal-${index}`}
              role="option"
              aria-selected={index === marked}
              onPointerDown={(event) => {
                // The input keeps the focus.
                event.preventDefault();
                complete(name);
              }}
            >
              {name}
            </li>
          ))}
        </ul>
        {fault !== undefined && (
          <p class="problem" role="alert">
            {fault.text}
          </p>
        )}
      </div>
      <button type="submit">Show</button>
      <a class="button" href={addressOf({ ...placeOfGrid(place), isNew: true })}>
        New
      </a>
    </form>
  );
}

/** A filter for an attribute that the dataclass has. */
function example({ attributes, label }: ExplorerDataclass): string {
  const number = attributes.find(({ kind, name }) => kind === 'number' && !/id$/i.test(name));
  if (number !== undefined) return `${number.name} > 100`;
  return label === undefined ? '__KEY = 1' : `${label} begin A`;
}

interface FilterProblem {
  /** The character that is wrong, from 1 on. */
  readonly at: number;
  readonly text: string;
}

/** What is wrong with a filter, if that is the problem (`filters.md`). */
export function filterProblem(problem: string | undefined): FilterProblem | undefined {
  const [, at, text = ''] = /^Character (\d+) of \$filter: (.*)$/s.exec(problem ?? '') ?? [];
  return at === undefined ? undefined : { at: Number(at), text };
}

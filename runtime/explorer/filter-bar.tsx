import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Combobox } from './combobox.js';
import { type Completion, completionOf } from './completion.js';
import type { ExplorerDataclass, ExplorerModel } from './model.js';
import { addressOf, type Place, placeOfGrid, relatedText } from './place.js';
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
  const source = set === undefined ? of && relatedText(of) : 'a kept set';
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(filter);
  const [{ from, names }, setCompletion] = useState(nothing);
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

  const complete = (name = ''): void => {
    const element = input.current;
    if (element === null) return;
    const end = element.selectionStart ?? text.length;
    const completed = text.slice(0, from) + name;
    // The input gets it before the next drawing: somebody who goes on typing does so behind it.
    element.value = completed + text.slice(end);
    setText(element.value);
    setCompletion(nothing);
    element.focus();
    element.setSelectionRange(completed.length, completed.length);
  };
  const onInput = (element: HTMLInputElement): void => {
    setText(element.value);
    const at = element.selectionStart ?? element.value.length;
    setCompletion(completionOf(model, dataclass, element.value, at));
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
      <Combobox
        id="filter"
        label="Attributes"
        text={text}
        proposals={names}
        input={{
          class: 'filter',
          'aria-label': 'Filter',
          'aria-invalid': fault !== undefined,
          placeholder: `Filter, such as ${example(dataclass)}`,
        }}
        inputRef={input}
        change={onInput}
        choose={(index) => complete(names[index])}
        close={() => setCompletion(nothing)}
      >
        {fault !== undefined && (
          <p class="problem" role="alert">
            {fault.text}
          </p>
        )}
      </Combobox>
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

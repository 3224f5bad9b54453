import type { JSX } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { type Draft, draftOf, fieldsOf, type FormScope, hasBytes, scopeOfList } from './draft.js';
import { Field } from './field.js';
import type { ExplorerAttribute } from './model.js';
import type { AnyEntity } from './server.js';
import type { Opened } from './store.js';

interface FieldsProps {
  readonly opened: Opened;
  readonly scope: FormScope;
  /** The stored entity, if there is one. */
  readonly entity?: AnyEntity | undefined;
  /** The place of the entity in the form, which begins those of its attributes: `staff[1].`. */
  readonly at: string;
  readonly draft: Draft;
  /** By the places of attributes. */
  readonly problems: Readonly<Record<string, string>>;
  readonly change: (draft: Draft) => void;
}

/** The inputs for one entity, and for new entities of its lists. */
export function Fields(props: FieldsProps): JSX.Element {
  const { opened, scope, entity, at, draft, problems, change } = props;
  const form = useId();
  const fields = fieldsOf(scope);
  return (
    <>
      <dl>
        {fields
          .filter(({ kind }) => kind !== 'many')
          .map((each, index) => {
            const { name } = each;
            const id = `${form}-${index}`;
            return (
              <div key={name}>
                <dt>
                  <label for={id}>
                    {name}
                    {each.isMandatory && ' *'}
                  </label>
                </dt>
                <dd>
                  <Field
                    {...{ opened, id }}
                    attribute={each}
                    typed={draft.typed[name]}
                    hasFile={hasBytes(entity, each)}
                    problem={problems[at + name]}
                    change={(typed) =>
                      change({ ...draft, typed: { ...draft.typed, [name]: typed } })
                    }
                  />
                </dd>
              </div>
            );
          })}
      </dl>
      {fields
        .filter(({ kind }) => kind === 'many')
        .map((each) => (
          <List key={each.name} {...props} list={each} />
        ))}
    </>
  );
}

interface ListProps extends FieldsProps {
  readonly list: ExplorerAttribute;
}

/** New entities of a to-many relation, which are saved together with its owner. */
function List({ opened, list, at, draft, problems, change }: ListProps): JSX.Element | null {
  const scope = scopeOfList(opened.model, list);
  if (scope === undefined) return null;
  const { name } = list;
  const rows = draft.lists[name] ?? [];
  const setRows = (changed: readonly Draft[]): void =>
    change({ ...draft, lists: { ...draft.lists, [name]: changed } });
  return (
    <div class="list">
      {rows.map((row, index) => {
        const place = `${at}${name}[${index}]`;
        return (
          <NewRow key={row.id} legend={`${name} ${index + 1}`} problem={problems[place]}>
            <Fields
              {...{ opened, scope, problems }}
              at={`${place}.`}
              draft={row}
              change={(changed) => setRows(rows.with(index, changed))}
            />
            <button type="button" onClick={() => setRows(rows.toSpliced(index, 1))}>
              Remove {name} {index + 1}
            </button>
          </NewRow>
        );
      })}
      <button type="button" onClick={() => setRows([...rows, draftOf(scope.dataclass)])}>
        Add to {name}
      </button>
    </div>
  );
}

interface NewRowProps {
  readonly legend: string;
  /** What is wrong with the whole entity. */
  readonly problem: string | undefined;
  readonly children: JSX.Element | readonly JSX.Element[];
}

/** A new entity of a list; its first input has the focus when it was added. */
function NewRow({ legend, problem, children }: NewRowProps): JSX.Element {
  const row = useRef<HTMLFieldSetElement>(null);
  useEffect(() => focusInput(row.current), []);
  return (
    <fieldset ref={row}>
      <legend>{legend}</legend>
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {children}
    </fieldset>
  );
}

/** Moves the focus to the first input of a part of a form. */
export function focusInput(part: Element | null, which = ''): void {
  part?.querySelector<HTMLElement>(`input${which}, select${which}, textarea${which}`)?.focus();
}

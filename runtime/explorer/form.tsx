import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { discardChanges } from '../client/entity.js';
import { type ErrorReason, RestError } from '../client/errors.js';
import { collect, draftOf, fieldsOf, type FormScope } from './draft.js';
import { Fields, focusInput } from './fields.js';
import type { ExplorerAttribute, ExplorerDataclass } from './model.js';
import { useMounted } from './mounted.js';
import type { AnyEntity } from './server.js';
import { type Opened, store } from './store.js';
import { shownValue } from './values.js';
import type { Typed } from './written.js';

interface FormProps {
  readonly opened: Opened;
  readonly dataclass: ExplorerDataclass;
  readonly entity: AnyEntity;
  /** Called when the entity is stored. */
  readonly saved: () => void;
  readonly cancel: () => void;
}

/** What somebody else has stored meanwhile, and the answer that it waits for. */
interface Conflict {
  readonly theirs: Readonly<Record<string, unknown>>;
  /** Names of the attributes whose values differ. */
  readonly names: readonly string[];
  readonly answer: (keepsMine: boolean) => void;
}

type Values = Readonly<Record<string, unknown>>;

/** Edits one entity, or makes one, by the rules of the model. */
export function Form({ opened, dataclass, entity, saved, cancel }: FormProps): JSX.Element {
  const scope: FormScope = { dataclass, isNew: entity.isNew };
  const fields = fieldsOf(scope);
  const form = useRef<HTMLFormElement>(null);
  const isMounted = useMounted();
  const [isSaving, setSaving] = useState(false);
  /** What has the focus when a save begins. */
  const active = useRef<Element | null>(null);
  const [draft, setDraft] = useState(() => draftOf(dataclass, entity));
  const [problems, setProblems] = useState<Readonly<Record<string, string>>>({});
  const [conflict, setConflict] = useState<Conflict>();
  useEffect(() => {
    focusInput(form.current);
    return () => {
      store.isTyped = false;
    };
  }, []);
  useEffect(() => {
    if (isSaving) return;
    if (active.current instanceof HTMLElement) active.current.focus();
    focusInput(form.current, '[aria-invalid=true]');
  }, [problems, isSaving]);

  const onConflict = (mine: object, theirs: object): Promise<object | null> =>
    new Promise((resolve) => {
      const [own, stored] = [mine as Values, theirs as Values];
      const names = fields
        .map(({ name }) => name)
        .filter((name) => JSON.stringify(own[name]) !== JSON.stringify(stored[name]));
      const answer = (keepsMine: boolean): void => {
        setConflict(undefined);
        resolve(keepsMine ? mine : null);
      };
      setConflict({ theirs: stored, names, answer });
    });
  const save = async (): Promise<void> => {
    // A save that was refused has left its values there.
    discardChanges(entity);
    const before = draftOf(dataclass, entity);
    const { values, problems: wrong, places } = collect(opened.model, scope, draft, before);
    setProblems(wrong);
    if (Object.keys(wrong).length > 0) return;
    entity.fromObject(values);
    try {
      await entity.save({ onConflict });
      if (!isMounted()) {
        store.refind();
        return;
      }
      store.isTyped = false;
      saved();
    } catch (error) {
      if (!(error instanceof RestError)) throw error;
      const refused = problemsAt(places, error.errors);
      setProblems(refused);
      if (Object.keys(refused).length === 0) throw error;
    }
  };
  const submit = async (): Promise<void> => {
    if (isSaving) return;
    active.current = document.activeElement;
    setSaving(true);
    await store.act(save);
    setSaving(false);
  };
  return (
    <form
      ref={form}
      aria-label={entity.isNew ? `New ${dataclass.name}` : 'Edit'}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        void submit();
      }}
    >
      <fieldset class="whole" disabled={isSaving}>
        <Fields
          {...{ opened, scope, draft, problems, entity }}
          at=""
          change={(changed) => {
            // At once: an effect may come after a click that leaves the form.
            store.isTyped = true;
            setDraft(changed);
          }}
        />
      </fieldset>
      {conflict !== undefined && <ConflictView {...{ fields, conflict }} typed={draft.typed} />}
      <div class="actions">
        <button type="submit" class="primary" title="Ctrl+Enter" disabled={isSaving}>
          Save
        </button>
        <button
          type="button"
          disabled={isSaving}
          onClick={() => {
            store.isTyped = false;
            cancel();
          }}
        >
          Discard
        </button>
      </div>
    </form>
  );
}

/** Why an entity was refused, by the places that a form shows; the first reason of each says most. */
function problemsAt(
  places: ReadonlySet<string>,
  errors: readonly ErrorReason[],
): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const { attribute = '', message } of errors) {
    const isKnown = Object.keys(found).some(
      (each) => each === attribute || each.startsWith(`${attribute}.`),
    );
    if (!places.has(attribute) || isKnown) continue;
    // The place of an entity of a list begins the message, too.
    const entity = attribute.slice(0, attribute.lastIndexOf(']') + 1);
    found[attribute] = message.startsWith(`${entity}: `)
      ? message.slice(entity.length + 2)
      : message;
  }
  return found;
}

interface ConflictProps {
  readonly fields: readonly ExplorerAttribute[];
  readonly typed: Readonly<Record<string, Typed>>;
  readonly conflict: Conflict;
}

/** Both versions of an entity that somebody else has changed meanwhile. */
function ConflictView({ fields, typed, conflict }: ConflictProps): JSX.Element {
  const { theirs, names, answer } = conflict;
  const dialog = useRef<HTMLDivElement>(null);
  useEffect(() => dialog.current?.focus(), []);
  return (
    <div ref={dialog} class="conflict" role="alertdialog" aria-label="Conflict" tabIndex={-1}>
      <p>Somebody else has changed this entity.</p>
      <table>
        <thead>
          <tr>
            <th scope="col">attribute</th>
            <th scope="col">mine</th>
            <th scope="col">theirs</th>
          </tr>
        </thead>
        <tbody>
          {fields
            .filter(({ name }) => names.includes(name))
            .map((each) => (
              <tr key={each.name}>
                <th scope="row">{each.name}</th>
                <td>{shownTyped(typed[each.name])}</td>
                <td>{shownValue(each, theirs[each.name])}</td>
              </tr>
            ))}
        </tbody>
      </table>
      <button type="button" onClick={() => answer(true)}>
        Save mine
      </button>{' '}
      <button type="button" onClick={() => answer(false)}>
        Keep theirs
      </button>
    </div>
  );
}

function shownTyped(typed: Typed): string {
  return typed === undefined || typed === null || typed instanceof File ? '' : String(typed);
}

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { RestError } from '../client/errors.js';
import { Field } from './field.js';
import type { ExplorerAttribute, ExplorerDataclass } from './model.js';
import { memberOf } from './entity.js';
import type { AnyEntity, Media, Related } from './server.js';
import { problemOf, store } from './store.js';
import { shownValue } from './values.js';
import { typedText, valueOf } from './written.js';

interface FormProps {
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
export function Form({ dataclass, entity, saved, cancel }: FormProps): JSX.Element {
  const fields = dataclass.attributes.filter((each) => isEditable(each, entity.isNew));
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>(() =>
    Object.fromEntries(fields.filter(isTyped).map((each) => [each.name, textOf(entity, each)])),
  );
  const [files, setFiles] = useState<Readonly<Record<string, File | null | undefined>>>({});
  const [problems, setProblems] = useState<Readonly<Record<string, string>>>({});
  const [conflict, setConflict] = useState<Conflict>();

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
    const wrong: Record<string, string> = {};
    for (const each of fields) {
      try {
        assign(entity, each, texts[each.name], files[each.name]);
      } catch (error) {
        wrong[each.name] = problemOf(error);
      }
    }
    setProblems(wrong);
    if (Object.keys(wrong).length > 0) return;
    try {
      await entity.save({ onConflict });
      saved();
    } catch (error) {
      if (!(error instanceof RestError)) throw error;
      const named = error.errors.flatMap(({ attribute = '', message }) =>
        fields.some(({ name }) => name === attribute) ? [[attribute, message] as const] : [],
      );
      setProblems(Object.fromEntries(named));
      if (named.length < error.errors.length) throw error;
    }
  };
  return (
    <form
      aria-label={entity.isNew ? `New ${dataclass.name}` : 'Edit'}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void store.attempt(save);
      }}
    >
      <dl>
        {fields.map((each) => (
          <div key={each.name}>
            <dt>
              <label for={`field-${each.name}`}>
                {each.name}
                {each.isMandatory && ' *'}
              </label>
            </dt>
            <dd>
              {isTyped(each) ? (
                <Field
                  id={`field-${each.name}`}
                  attribute={each}
                  text={texts[each.name] ?? ''}
                  problem={problems[each.name]}
                  change={(text) => {
                    setTexts({ ...texts, [each.name]: text });
                  }}
                />
              ) : (
                <FileField
                  attribute={each}
                  hasFile={hasBytes(entity, each)}
                  problem={problems[each.name]}
                  change={(file) => {
                    setFiles({ ...files, [each.name]: file });
                  }}
                />
              )}
            </dd>
          </div>
        ))}
      </dl>
      {conflict !== undefined && <ConflictView {...{ fields, texts, conflict }} />}
      <div class="actions">
        <button type="submit" class="primary">
          Save
        </button>
        <button type="button" onClick={cancel}>
          Discard
        </button>
      </div>
    </form>
  );
}

interface FileFieldProps {
  readonly attribute: ExplorerAttribute;
  /** Whether the entity has bytes there. */
  readonly hasFile: boolean;
  readonly problem: string | undefined;
  /** Gets `null` to remove them, and `undefined` to leave them as they are. */
  readonly change: (file: File | null | undefined) => void;
}

function FileField({ attribute, hasFile, problem, change }: FileFieldProps): JSX.Element {
  const { name, kind } = attribute;
  return (
    <>
      <input
        id={`field-${name}`}
        type="file"
        accept={kind === 'image' ? 'image/*' : undefined}
        onChange={({ currentTarget }) => {
          change(currentTarget.files?.[0]);
        }}
      />
      {hasFile && (
        <label>
          <input
            type="checkbox"
            onChange={({ currentTarget }) => {
              change(currentTarget.checked ? null : undefined);
            }}
          />{' '}
          remove
        </label>
      )}
      {problem !== undefined && <small class="problem">{problem}</small>}
    </>
  );
}

interface ConflictProps {
  readonly fields: readonly ExplorerAttribute[];
  readonly texts: Readonly<Record<string, string>>;
  readonly conflict: Conflict;
}

/** Both versions of an entity that somebody else has changed meanwhile. */
function ConflictView({ fields, texts, conflict }: ConflictProps): JSX.Element {
  const { theirs, names, answer } = conflict;
  return (
    <div class="conflict" role="alertdialog" aria-label="Conflict">
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
                <td>{texts[each.name]}</td>
                <td>{shownValue(each, theirs[each.name])}</td>
              </tr>
            ))}
        </tbody>
      </table>
      <button
        type="button"
        onClick={() => {
          answer(true);
        }}
      >
        Save mine
      </button>{' '}
      <button
        type="button"
        onClick={() => {
          answer(false);
        }}
      >
        Keep theirs
      </button>
    </div>
  );
}

function isEditable({ kind, isReadOnly, isKey }: ExplorerAttribute, isNew: boolean): boolean {
  return kind !== 'many' && !isReadOnly && (!isKey || isNew);
}

function isTyped({ kind }: ExplorerAttribute): boolean {
  return kind !== 'image' && kind !== 'blob';
}

function textOf(entity: AnyEntity, attribute: ExplorerAttribute): string {
  const value = memberOf(entity, attribute.name);
  return typedText(attribute, attribute.kind === 'one' ? (value as Related).key : value);
}

function hasBytes(entity: AnyEntity, { name }: ExplorerAttribute): boolean {
  return (memberOf(entity, name) as Media).url !== null;
}

/**
 * Sets what was typed or chosen; what stayed as it was is not touched.
 * @throws TypedWrong, TypeError for what the attribute cannot be set to
 */
function assign(
  entity: AnyEntity,
  attribute: ExplorerAttribute,
  text: string | undefined,
  file: File | null | undefined,
): void {
  if (!isTyped(attribute)) {
    if (file !== undefined) (memberOf(entity, attribute.name) as Media).set(file);
    return;
  }
  if (text === undefined || text === textOf(entity, attribute)) return;
  const value = valueOf(attribute, text);
  if (attribute.kind === 'one') (memberOf(entity, attribute.name) as Related).set(value as never);
  else entity.fromObject({ [attribute.name]: value });
}

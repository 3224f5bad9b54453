import type { JSX } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { ResultType } from '../client/table.js';
import { labelOfEntity } from './entity.js';
import { Field } from './field.js';
import type { ExplorerAttribute, ExplorerFunction, ExplorerModel } from './model.js';
import { useMounted } from './mounted.js';
import { addressOf, gridOf } from './place.js';
import type { AnyEntity, Key, Selection } from './server.js';
import { type Kept, type Opened, problemOf, store } from './store.js';
import { shownCount, shownEntities, shownValue } from './values.js';
import { type Typed, typedOf, valueOf } from './written.js';

interface FunctionsProps {
  readonly opened: Opened;
  readonly functions: readonly ExplorerFunction[];
  /** The object whose members the functions are. */
  readonly owner: () => object | Promise<object>;
}

/** A form for each function, which shows what it returns. */
export function Functions({ opened, functions, owner }: FunctionsProps): JSX.Element {
  return (
    <div class="functions">
      {functions.map((called) => (
        <FunctionForm key={called.name} {...{ opened, called, owner }} />
      ))}
    </div>
  );
}

interface FunctionFormProps extends Pick<FunctionsProps, 'opened' | 'owner'> {
  readonly called: ExplorerFunction;
}

interface Returned {
  readonly value: unknown;
}

function FunctionForm({ opened, called, owner }: FunctionFormProps): JSX.Element {
  const { name, params, returns } = called;
  const id = useId();
  const [typed, setTyped] = useState<Readonly<Record<string, Typed>>>(() =>
    Object.fromEntries(params.map((each) => [each.name, typedOf(each, undefined)])),
  );
  const [problems, setProblems] = useState<Readonly<Record<string, string>>>({});
  const [returned, setReturned] = useState<Returned>();
  const isMounted = useMounted();
  const isCalling = useRef(false);
  const call = async (): Promise<void> => {
    setReturned(undefined);
    const wrong: Record<string, string> = {};
    const args: unknown[] = [];
    for (const each of params) {
      try {
        args.push(await argumentOf(opened, each, typed[each.name]));
      } catch (error) {
        wrong[each.name] = problemOf(error);
      }
    }
    setProblems(wrong);
    if (Object.keys(wrong).length > 0) return;
    const target = (await owner()) as Readonly<
      Record<string, ((...args: readonly unknown[]) => Promise<unknown>) | undefined>
    >;
    const member = target[name];
    if (member === undefined) throw new Error(`The client has no function ${name}.`);
    const value = await member.apply(target, args);
    // It may have changed anything.
    store.refind();
    store.edited();
    if (isMounted()) setReturned({ value });
    else if (typeof returns === 'object' && 'selection' in returns) {
      await (value as Selection | null)?.release();
    }
  };
  const submit = async (): Promise<void> => {
    // A second click must not call it twice.
    if (isCalling.current) return;
    isCalling.current = true;
    await store.act(call);
    isCalling.current = false;
  };
  return (
    <form
      aria-label={name}
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      {params.map((each, index) => (
        <div key={each.name}>
          <label for={`${id}-${index}`}>{each.name}</label>
          <Field
            {...{ opened }}
            id={`${id}-${index}`}
            attribute={each}
            typed={typed[each.name]}
            problem={problems[each.name]}
            change={(changed) => setTyped({ ...typed, [each.name]: changed })}
          />
        </div>
      ))}
      <button type="submit">{name}</button>
      {returned !== undefined && (
        <output>
          <Result {...{ name }} model={opened.model} type={returns} value={returned.value} />
        </output>
      )}
    </form>
  );
}

/** @throws TypedWrong */
async function argumentOf(
  { datastore }: Opened,
  parameter: ExplorerAttribute,
  typed: Typed,
): Promise<unknown> {
  const value = valueOf(parameter, typed);
  const { kind, target = '' } = parameter;
  if (kind !== 'one' || value === null) return value;
  const key = value as Key;
  const entity = await datastore.get(target, key);
  if (entity === null) throw new Error(`There is no ${target} with the key ${key}.`);
  return entity;
}

interface ResultProps {
  readonly model: ExplorerModel;
  /** The name of the function. */
  readonly name: string;
  readonly type: ResultType;
  readonly value: unknown;
}

function Result({ model, name, type, value }: ResultProps): JSX.Element {
  if (type === 'void') return <span class="quiet">done</span>;
  if (value === null || value === undefined) return <span class="quiet">nothing</span>;
  if (type === 'message') return <Message response={value as Response} />;
  if (type === 'image' || type === 'blob') return <Bytes blob={value as Blob} />;
  if (type === 'date' || type === 'day' || type === 'object') {
    return <span>{shownValue({ kind: type }, value)}</span>;
  }
  if (type === 'plain') {
    return <span>{typeof value === 'string' ? value : JSON.stringify(value)}</span>;
  }
  if ('list' in type) {
    return (
      <ul>
        {(value as readonly unknown[]).map((each, index) => (
          <li key={index}>
            <Result {...{ model, name }} type={type.list} value={each} />
          </li>
        ))}
      </ul>
    );
  }
  if ('selection' in type) {
    return (
      <SelectionResult name={name} dataclass={type.selection} selection={value as Selection} />
    );
  }
  const entity = value as AnyEntity;
  const dataclass = model.dataclasses.get(type.entity);
  const text = dataclass === undefined ? String(entity.key) : labelOfEntity(dataclass, entity);
  return <a href={addressOf(gridOf(type.entity, { entity: String(entity.key) }))}>{text}</a>;
}

interface SelectionProps {
  /** The name of the function. */
  readonly name: string;
  readonly dataclass: string;
  readonly selection: Selection;
}

/** The number of entities of a selection, which the grid can show: it is an entity set of the server. */
function SelectionResult({ name, dataclass, selection }: SelectionProps): JSX.Element {
  const [count, setCount] = useState<number>();
  const kept = useRef<Kept>();
  useEffect(() => {
    void store.attempt(async () => setCount(await selection.count()));
    return () => {
      // Sets that nobody releases expire.
      if (kept.current === undefined) selection.release().catch(() => undefined);
    };
  }, [selection]);
  if (count === undefined) return <span>…</span>;
  const show = (): void => {
    kept.current ??= store.keep({ dataclass, name, count, set: selection });
    store.go(gridOf(dataclass, { set: kept.current.id }));
  };
  return (
    <>
      {shownEntities(count)}{' '}
      <button type="button" onClick={show}>
        Show
      </button>
    </>
  );
}

function Message({ response }: { readonly response: Response }): JSX.Element {
  const [text, setText] = useState('');
  useEffect(() => {
    void store.attempt(async () => setText(await response.text()));
  }, [response]);
  return (
    <span>
      {response.status} {text}
    </span>
  );
}

function Bytes({ blob }: { readonly blob: Blob }): JSX.Element {
  const [url, setUrl] = useState('');
  useEffect(() => {
    const made = URL.createObjectURL(blob);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [blob]);
  return (
    <a href={url} download="result">
      {shownCount(blob.size)} bytes
    </a>
  );
}

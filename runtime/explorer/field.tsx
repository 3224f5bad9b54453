import type { InputHTMLAttributes, JSX } from 'preact';
import { EntityField } from './entity-field.js';
import type { ExplorerAttribute } from './model.js';
import type { Opened } from './store.js';
import { inputType, type Typed } from './written.js';

interface FieldProps {
  readonly opened: Opened;
  /** The ID of the input, once in the page. */
  readonly id: string;
  readonly attribute: ExplorerAttribute;
  readonly typed: Typed;
  /** Whether bytes are stored there. */
  readonly hasFile?: boolean;
  /** What is wrong with it. */
  readonly problem: string | undefined;
  readonly change: (typed: Typed) => void;
}

/** The input for one attribute, with the rules of the model. */
export function Field(props: FieldProps): JSX.Element {
  const { id, problem, attribute } = props;
  const described = `${id}-problem`;
  const common = {
    id,
    'aria-invalid': problem !== undefined,
    'aria-describedby': problem === undefined ? undefined : described,
    required: attribute.isMandatory,
  };
  return (
    <>
      <Input {...props} {...{ common }} />
      {problem !== undefined && (
        <small id={described} class="problem">
          {problem}
        </small>
      )}
    </>
  );
}

interface InputProps extends FieldProps {
  /** What every kind of input has. */
  readonly common: InputHTMLAttributes & { readonly id: string };
}

function Input({ opened, common, attribute, typed, hasFile, change }: InputProps): JSX.Element {
  const { kind, rules } = attribute;
  const target = opened.model.dataclasses.get(attribute.target ?? '');
  if (kind === 'one' && target !== undefined) {
    return <EntityField {...{ opened, attribute, target, typed, change }} input={common} />;
  }
  if (kind === 'image' || kind === 'blob') {
    return <FileInput {...{ common, kind, change }} hasFile={hasFile === true} />;
  }
  const text = typeof typed === 'string' ? typed : '';
  const onInput = ({ currentTarget: { value } }: { currentTarget: { value: string } }): void =>
    change(value);
  const choices = choicesOf(attribute);
  if (choices !== undefined) {
    return (
      <select {...(common as object)} value={text} onInput={onInput}>
        <option value="">–</option>
        {choices.map(([value, shown]) => (
          <option key={value} value={value}>
            {shown}
          </option>
        ))}
      </select>
    );
  }
  if (kind === 'object') {
    return <textarea {...(common as object)} rows={4} value={text} onInput={onInput} />;
  }
  return (
    <input
      {...common}
      type={inputType(attribute)}
      step="any"
      maxLength={rules.maxLength}
      placeholder={placeholder(attribute)}
      autocomplete="off"
      value={text}
      onInput={onInput}
    />
  );
}

interface FileInputProps extends Pick<InputProps, 'common'> {
  readonly kind: 'image' | 'blob';
  readonly hasFile: boolean;
  /** Gets `null` to remove the bytes, and `undefined` to leave them as they are. */
  readonly change: (file: File | null | undefined) => void;
}

function FileInput({ common, kind, hasFile, change }: FileInputProps): JSX.Element {
  return (
    <>
      <input
        {...common}
        type="file"
        accept={kind === 'image' ? 'image/*' : undefined}
        onChange={({ currentTarget }) => change(currentTarget.files?.[0])}
      />
      {hasFile && (
        <label>
          <input
            type="checkbox"
            onChange={({ currentTarget }) => change(currentTarget.checked ? null : undefined)}
          />{' '}
          remove
        </label>
      )}
    </>
  );
}

function choicesOf({
  kind,
  rules,
}: ExplorerAttribute): readonly (readonly [string, string])[] | undefined {
  if (kind === 'boolean') {
    return [
      ['true', 'yes'],
      ['false', 'no'],
    ];
  }
  return rules.enum?.map((each) => [each, each] as const);
}

/** The limits of a number, where it has some. */
function placeholder({ rules, isKey, isMandatory }: ExplorerAttribute): string | undefined {
  if (isKey && !isMandatory) return 'made if empty';
  const { min, max } = rules;
  if (min !== undefined && max !== undefined) return `${min} to ${max}`;
  if (min !== undefined) return `at least ${min}`;
  return max === undefined ? undefined : `at most ${max}`;
}

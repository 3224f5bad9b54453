import type { JSX } from 'preact';
import type { ExplorerAttribute } from './model.js';
import { inputType } from './written.js';

interface FieldProps {
  /** The ID of the input, once in the page. */
  readonly id: string;
  readonly attribute: ExplorerAttribute;
  /** The text as it is typed. */
  readonly text: string;
  /** What is wrong with it. */
  readonly problem: string | undefined;
  readonly change: (text: string) => void;
}

/** The input for one attribute, with the rules of the model. */
export function Field({ id, attribute, text, problem, change }: FieldProps): JSX.Element {
  const { isMandatory } = attribute;
  const described = `${id}-problem`;
  const common = {
    id,
    'aria-invalid': problem !== undefined,
    'aria-describedby': problem === undefined ? undefined : described,
    required: isMandatory,
  };
  const choices = choicesOf(attribute);
  return (
    <>
      {choices !== undefined && (
        <select
          {...common}
          value={text}
          onInput={({ currentTarget }) => {
            change(currentTarget.value);
          }}
        >
          <option value="">–</option>
          {choices.map(([value, shown]) => (
            <option key={value} value={value}>
              {shown}
            </option>
          ))}
        </select>
      )}
      {choices === undefined && attribute.kind === 'object' && (
        <textarea
          {...common}
          rows={4}
          value={text}
          onInput={({ currentTarget }) => {
            change(currentTarget.value);
          }}
        />
      )}
      {choices === undefined && attribute.kind !== 'object' && (
        <input
          {...common}
          type={inputType(attribute)}
          step="any"
          maxLength={attribute.rules.maxLength}
          placeholder={placeholder(attribute)}
          autocomplete="off"
          value={text}
          onInput={({ currentTarget }) => {
            change(currentTarget.value);
          }}
        />
      )}
      {problem !== undefined && (
        <small id={described} class="problem">
          {problem}
        </small>
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
function placeholder({ kind, rules, target }: ExplorerAttribute): string | undefined {
  const { min, max } = rules;
  if (kind === 'one') return `key of ${target ?? ''}`;
  if (min !== undefined && max !== undefined) return `${min} to ${max}`;
  if (min !== undefined) return `at least ${min}`;
  return max === undefined ? undefined : `at most ${max}`;
}

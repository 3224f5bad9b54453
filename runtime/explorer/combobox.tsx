import type { ComponentChildren, InputHTMLAttributes, JSX, Ref } from 'preact';
import { useEffect, useState } from 'preact/hooks';

interface ComboboxProps {
  /** The ID of the input, once in the page. */
  readonly id: string;
  /** Says what the proposals are. */
  readonly label: string;
  readonly text: string;
  /** What can be chosen now; none closes the list. */
  readonly proposals: readonly string[];
  /** Whether Enter chooses the first proposal, and not only one that the arrows have marked. */
  readonly marksFirst?: boolean;
  readonly input?: Omit<InputHTMLAttributes, 'ref'>;
  readonly inputRef?: Ref<HTMLInputElement>;
  /** Called when something was typed. */
  readonly change: (element: HTMLInputElement) => void;
  readonly choose: (index: number) => void;
  readonly close: () => void;
  /** Called when the arrows ask for proposals and there are none. */
  readonly open?: () => void;
  readonly children?: ComponentChildren;
}

/** An input that proposes what can stand in it. */
export function Combobox({
  id,
  label,
  text,
  proposals,
  marksFirst = false,
  input,
  inputRef,
  change,
  choose,
  close,
  open,
  children,
}: ComboboxProps): JSX.Element {
  const first = marksFirst ? 0 : -1;
  /** The position of the marked proposal; -1 for none. */
  const [marked, setMarked] = useState(first);
  const { length } = proposals;
  useEffect(() => setMarked(first), [proposals]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const { key } = event;
    const isChosen = marked >= 0 && (key === 'Enter' || key === 'Tab');
    if (length === 0) {
      if (key !== 'ArrowDown' || open === undefined) return;
      open();
    } else if (key === 'ArrowDown') setMarked((marked + 1) % length);
    else if (key === 'ArrowUp') setMarked((Math.max(marked, 0) + length - 1) % length);
    else if (key === 'Escape') close();
    else if (isChosen && !hasModifier(event)) choose(marked);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="typed">
      <input
        {...input}
        id={id}
        ref={inputRef ?? null}
        role="combobox"
        aria-autocomplete="list"
        aria-expanded={length > 0}
        aria-controls={`${id}-list`}
        aria-activedescendant={marked < 0 || length === 0 ? undefined : `${id}-${marked}`}
        spellcheck={false}
        autocomplete="off"
        value={text}
        onInput={({ currentTarget }) => change(currentTarget)}
        onKeyDown={onKeyDown}
        onBlur={close}
      />
      <ul id={`${id}-list`} role="listbox" aria-label={label} hidden={length === 0}>
        {proposals.map((each, index) => (
          <li
            key={index}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === marked}
            onPointerDown={(event) => {
              // The input keeps the focus.
              event.preventDefault();
              choose(index);
            }}
          >
            {each}
          </li>
        ))}
      </ul>
      {children}
    </div>
  );
}

function hasModifier({ ctrlKey, metaKey, shiftKey }: KeyboardEvent): boolean {
  return ctrlKey || metaKey || shiftKey;
}

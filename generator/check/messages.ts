import { accessMessages } from './messages/access-messages.js';
import { attributeMessages } from './messages/attribute-messages.js';
import { fileMessages } from './messages/file-messages.js';
import { nameMessages } from './messages/name-messages.js';
import { relationMessages } from './messages/relation-messages.js';
import type { Message, MessageTable } from './messages/message.js';

/** Every problem that a model can have, by its stable code. */
export const messages = {
  ...fileMessages,
  ...nameMessages,
  ...attributeMessages,
  ...relationMessages,
  ...accessMessages,
} satisfies MessageTable;

export type Code = keyof typeof messages;

/** The values for the holes of each text. */
type Fills = {
  readonly [C in Code]: Parameters<(typeof messages)[C]['text']> extends [infer F] ? F : object;
};

export type Fill<C extends Code> = Fills[C];

const table: { readonly [C in Code]: Message<Fills[C]> } = messages;

/** The text of a problem, its holes filled. */
export function messageText<C extends Code>(code: C, fill: Fill<C>): string {
  return table[code].text(fill);
}

import type { Message } from '../check/messages/message.js';

type Severity = 'error' | 'warning' | 'info';

interface ImportMessage<Fill> extends Omit<Message<Fill>, 'severity'> {
  readonly severity: Severity;
}

interface Reason {
  readonly reason: string;
}

/** What an import could not take over as it is; the place is said beside each message. */
export const importMessages = {
  'import/unreadable': {
    severity: 'error',
    meaning: 'The source, or a file of it, cannot be read.',
    text: (f: Reason) => `This cannot be read: ${f.reason}.`,
  },
  'import/empty': {
    severity: 'error',
    meaning: 'The source has nothing that a model could be made of.',
    text: (f: Reason) => `There is nothing to import: ${f.reason}.`,
  },
  'import/roles-malformed': {
    severity: 'error',
    meaning: 'The roles file of the source is not JSON, or not a roles file.',
    text: (f: Reason) =>
      `The roles file is malformed: ${f.reason}. Repair it, or import everything else with --without-roles.`,
  },
  'import/accessor-lost': {
    severity: 'warning',
    meaning: 'A computed attribute of the source is left out.',
    text: (f: { name: string } & Reason) =>
      `The computed attribute ${f.name} is left out: ${f.reason}.`,
  },
  'import/alias-lost': {
    severity: 'warning',
    meaning:
      'An alias that leads over a to-many relation to an attribute, or nowhere, is left out.',
    text: (f: { name: string; path: string } & Reason) =>
      `The alias ${f.name} of ${f.path} is left out: ${f.reason}.`,
  },
  'import/any': {
    severity: 'info',
    meaning: 'Parameters or results have the type any, because the source does not give a type.',
    text: (f: { count: number }) =>
      `${f.count} parameters and results have the type any, because the source gives no type that the model has.`,
  },
  'import/blank': {
    severity: 'info',
    meaning: 'The old database stored blank values instead of null.',
    text: (f: { count: number; defaults: boolean }) =>
      f.defaults
        ? `${f.count} attributes were never null: those without a default of their own got a blank one.`
        : `${f.count} attributes were never null: the old database stored a blank value instead. --blank-defaults gives them blank defaults.`,
  },
  'import/by-value': {
    severity: 'warning',
    meaning:
      'A relation leads to values that are not unique, or its field feeds another relation, so it has a foreign key of its own.',
    text: (f: { relation: string; target: string; foreignKey: string }) =>
      `${f.relation} leads to ${f.target}, which is not unique, or its field feeds another relation. It has the hidden foreign key ${f.foreignKey}, which your data must fill; writes to the old field do not change the relation. --key can make ${f.target} the key.`,
  },
  'import/case': {
    severity: 'warning',
    meaning:
      'Texts of a unique column differ only in case, and the model compares texts without regard to case.',
    text: (f: { groups: number; first: string; second: string; table: string; isKey: boolean }) => {
      const pair = `${JSON.stringify(f.first)} and ${JSON.stringify(f.second)}`;
      const remedy = f.isKey
        ? `Make another column the key with --key ${f.table}=<column>`
        : 'Remove unique from the attribute';
      const texts = f.groups === 1 ? '1 text occurs' : `${f.groups} texts occur`;
      return `${texts} in forms that differ only in case, as ${pair}; they are the same to the model. import-data stores the first row of each, and rejects the others. ${remedy}, or change the texts in the source.`;
    },
  },
  'import/class-orphan': {
    severity: 'warning',
    meaning: 'A class belongs to no table of the source.',
    text: (f: { name: string }) =>
      `The class ${f.name} belongs to no dataclass of the model and is left out.`,
  },
  'import/composite-key': {
    severity: 'warning',
    meaning: 'A table has a key of several columns, or none, and got a key of its own.',
    text: (f: { table: string; key: string; columns: string }) =>
      f.columns === ''
        ? `${f.table} has no primary key, so it got the key ${f.key}.`
        : `${f.table} has a key of several columns (${f.columns}), so it got the key ${f.key}. They are unique together.`,
  },
  'import/decimal': {
    severity: 'warning',
    meaning: 'Exact decimal numbers became doubles.',
    text: (f: { type: string }) =>
      `The type ${f.type} holds exact decimals, and the attribute is a number (a double).`,
  },
  'import/default-lost': {
    severity: 'warning',
    meaning: 'A default is not a constant of the type of its attribute, and is left out.',
    text: (f: { value: string }) =>
      `The default ${f.value} is left out. A value of each entity's own is set in the event saving.`,
  },
  'import/engine-table': {
    severity: 'info',
    meaning: 'A table that belongs to the old engine or to a tool is left out.',
    text: (f: { name: string }) => `${f.name} is kept by an engine or tool, and is left out.`,
  },
  'import/event-lost': {
    severity: 'warning',
    meaning: 'An event of the source has no equal.',
    text: (f: { name: string }) => `No event of the model is like ${f.name}, so it is left out.`,
  },
  'import/extends': {
    severity: 'warning',
    meaning: 'A dataclass that extends another one has copies of its attributes.',
    text: (f: { name: string; base: string }) =>
      `${f.name} extends ${f.base}. It got copies of the attributes, and is stored in a table of its own.`,
  },
  'import/function-lost': {
    severity: 'warning',
    meaning: 'A function, or a part of its signature, is left out.',
    text: (f: { name: string } & Reason) => `The function ${f.name} is left out: ${f.reason}.`,
  },
  'import/generated': {
    severity: 'warning',
    meaning: 'A column that the database computes became one that clients cannot write.',
    text: (f: { expression: string }) =>
      `The database computes this value (${f.expression}). The attribute is readOnly, and class code must set it.`,
  },
  'import/ignored': {
    severity: 'info',
    meaning: 'The source has words that the import does not know.',
    text: (f: { count: number; words: string }) =>
      `${f.count} elements and attributes are not known and have no effect: ${f.words}.`,
  },
  'import/index-left-out': {
    severity: 'warning',
    meaning: 'An index is over an expression, over a part of the rows, or over what has no index.',
    text: (f: { name: string } & Reason) => `The index ${f.name} is left out: ${f.reason}.`,
  },
  'import/inheritance': {
    severity: 'warning',
    meaning: 'A table that inherits from another one became a dataclass of its own.',
    text: (f: { name: string }) =>
      `${f.name} inherits from another table. It is a dataclass of its own, and reads of the other one do not find its entities.`,
  },
  'import/integer64': {
    severity: 'warning',
    meaning: 'Integers of 64 bits became integers of 53 bits.',
    text: () => 'This integer has 64 bits; greater ones than 2^53 cannot be taken over.',
  },
  'import/kept': {
    severity: 'warning',
    meaning: 'The source and the model file have both changed a part, and that of the file stays.',
    text: (f: { part: string; what: string }) =>
      f.what === ''
        ? `${f.part} is not in the source any more. You have edited it, so it stays.`
        : `The source has ${f.what} for ${f.part}. You have edited that, so yours stays.`,
  },
  'import/key-type': {
    severity: 'warning',
    meaning: 'A key has a type that no key can have.',
    text: (f: { field: string; type: string }) =>
      `${f.field} is the key, and a key cannot be a ${f.type}.`,
  },
  'import/keywords': {
    severity: 'info',
    meaning: 'Keyword indexes are left out; the filter % works without them.',
    text: (f: { count: number }) =>
      `${f.count} keyword indexes are left out: the filter % works without an index.`,
  },
  'import/long-key': {
    severity: 'warning',
    meaning:
      'Keys hold integers beyond 2^53, so they became strings, and so did the columns that refer to them.',
    text: (f: { refersTo: string; isDrawn: boolean }) =>
      f.refersTo === ''
        ? `This key holds integers beyond 2^53, so it is a string of their digits${f.isDrawn ? '; the server draws no such key: clients or class code give it' : ''}.`
        : `It refers to ${f.refersTo}, which holds integers beyond 2^53, so it is a string of their digits, too.`,
  },
  'import/mixed-column': {
    severity: 'warning',
    meaning: 'A column of SQLite holds values of another type than it declares.',
    text: (f: { declared: string; found: string; type: string }) =>
      `The column is declared as ${f.declared} and holds values of type ${f.found}. The attribute is a ${f.type}.`,
  },
  'import/no-action': {
    severity: 'info',
    meaning: 'The old database left foreign keys as they were when an entity was deleted.',
    text: (f: { count: number }) =>
      `${f.count} relations did nothing when their entity was deleted, and do nothing here (onDelete: none).`,
  },
  'import/no-key': {
    severity: 'warning',
    meaning: 'A table has no key of one field, and is left out.',
    text: (f: { table: string }) =>
      `${f.table} has no key of one field, so clients never saw it; it is left out. --keyless add gives it a key.`,
  },
  'import/permission-lost': {
    severity: 'warning',
    meaning: 'A permission names something that the model does not have, and is left out.',
    text: (f: { applyTo: string } & Reason) =>
      `The permission of ${f.applyTo} is left out: ${f.reason}.`,
  },
  'import/permission-twice': {
    severity: 'warning',
    meaning: 'Two permissions of one resource became one.',
    text: (f: { applyTo: string; action: string }) =>
      f.action === ''
        ? `${f.applyTo} has several permissions, which are one now.`
        : `${f.applyTo} has several lists of privileges for ${f.action}, which are one list now: each of them opens it.`,
  },
  'import/privilege-unknown': {
    severity: 'warning',
    meaning: 'A privilege that is not declared is left out.',
    text: (f: { privilege: string; closed: boolean }) =>
      f.closed
        ? `No privilege is called ${f.privilege}, and the list holds no other: it is [none] now, which nobody holds.`
        : `No privilege is called ${f.privilege}, so it is left out.`,
  },
  'import/relation-lost': {
    severity: 'warning',
    meaning: 'A relation is left out.',
    text: (f: { relation: string } & Reason) =>
      `The relation ${f.relation} is left out: ${f.reason}.`,
  },
  'import/renamed': {
    severity: 'warning',
    meaning: 'A name cannot stand in a model, or is taken, and was changed.',
    text: (f: { from: string; to: string }) =>
      `${f.from} is called ${f.to}. Clients must use the new name.`,
  },
  'import/rest-name': {
    severity: 'info',
    meaning: 'A name cannot stand in class code, and was changed there; clients keep it.',
    text: (f: { from: string; to: string }) =>
      `${f.from} is called ${f.to} in the model and in class code. Clients go on using ${f.from}, its restName.`,
  },
  'import/rule-lost': {
    severity: 'warning',
    meaning: 'A rule of the database has no equal in the model, and is left out.',
    text: (f: { rule: string } & Reason) => `${f.rule} is left out: ${f.reason}.`,
  },
  'import/subtable': {
    severity: 'warning',
    meaning: 'The field of a sub-table is left out.',
    text: (f: { field: string }) =>
      `${f.field} leads to a sub-table and is left out; its rows are an ordinary table.`,
  },
  'import/trashed': {
    severity: 'info',
    meaning: 'A table in the bin is left out.',
    text: (f: { name: string }) => `${f.name} is in the bin, and is left out.`,
  },
  'import/trigger': {
    severity: 'warning',
    meaning: 'Triggers are left out, or became events.',
    text: (f: { what: string; became: string }) => `${f.what}: ${f.became}.`,
  },
  'import/type': {
    severity: 'warning',
    meaning: 'The model has no such type.',
    text: (f: { type: string; became: string }) => `The model has no type ${f.type}: ${f.became}.`,
  },
  'import/unique-key': {
    severity: 'info',
    meaning: 'A table has no primary key, and a unique column that is never null became the key.',
    text: (f: { table: string; column: string }) =>
      `${f.table} has no primary key; its unique column ${f.column} is the key.`,
  },
  'import/unique-left-out': {
    severity: 'warning',
    meaning:
      'A unique rule is over an expression, over a part of the rows, or over what has no index.',
    text: (f: { name: string } & Reason) => `The unique rule ${f.name} is left out: ${f.reason}.`,
  },
  'import/vector': {
    severity: 'warning',
    meaning: 'A vector whose dimensions are not known became an object.',
    text: (f: { attribute: string }) =>
      `The source does not tell the dimensions of the vector, so it is an object; --vector ${f.attribute}=<dimensions> makes it a vector.`,
  },
  'import/view': {
    severity: 'warning',
    meaning: 'A view, foreign table or virtual table is left out.',
    text: (f: { name: string; what: string }) => `${f.name} is a ${f.what} and is left out.`,
  },
} satisfies Readonly<Record<string, ImportMessage<never>>>;

type Table = typeof importMessages;
export type ImportCode = keyof Table;
type FillOf<C extends ImportCode> = Parameters<Table[C]['text']>[0] extends undefined
  ? Readonly<Record<string, never>>
  : Parameters<Table[C]['text']>[0];

/** One remark of an import. */
export interface Note {
  readonly code: string;
  readonly severity: Severity;
  /** The place in the source. */
  readonly place: string;
  /** What the source has, and what the import made of it. */
  readonly message: string;
}

/** Collects the remarks of an import, each once. */
export class Notes {
  readonly #all: Note[] = [];
  readonly #seen = new Set<string>();

  add<C extends ImportCode>(code: C, place: string, fill: FillOf<C>): void {
    const { severity, text } = importMessages[code] as ImportMessage<FillOf<C>>;
    const message = printableLine(text(fill));
    const identity = JSON.stringify([code, place, message]);
    if (this.#seen.has(identity)) return;
    this.#seen.add(identity);
    this.#all.push({ code, severity, place: printableLine(place), message });
  }

  get all(): readonly Note[] {
    return this.#all;
  }
}

/** An import cannot go on; nothing is written. */
export class ImportStop extends Error {
  override readonly name = 'ImportStop';

  /**
   * @param code `usage`: the command line names what cannot be imported
   * @param place in the source
   */
  constructor(
    readonly code: 'import/unreadable' | 'import/empty' | 'import/roles-malformed' | 'usage',
    readonly place: string,
    readonly reason: string,
  ) {
    super(reason);
  }
}

const longest = 1000;

/** Names and texts of a source are hostile: one line, without characters that control a terminal. */
function printableLine(text: string): string {
  const line = text.replace(
    /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu,
    ' ',
  );
  return line.length > longest ? `${line.slice(0, longest)}…` : line;
}

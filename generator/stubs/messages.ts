import type { Diagnostic } from '../source/diagnostic.js';

interface StubMessage {
  readonly severity: Diagnostic['severity'];
  /** What the problem means, for the table of all problems in docs/diagnostics.md. */
  readonly meaning: string;
}

/** The messages about the classes of the user, by stable code. */
export const stubMessages = {
  'stub/lost-field': {
    severity: 'warning',
    meaning:
      'A singleton of scope `session` has a `#private` field, which a server with `STATE=database` loses when a call ends.',
  },
  'stub/no-class': {
    severity: 'warning',
    meaning: 'A file of class code does not export the class of its name.',
  },
  'stub/no-types': {
    severity: 'warning',
    meaning:
      'The model renames something, and the types of the server are missing: uses that need them are reported and not renamed.',
  },
  'stub/not-added': {
    severity: 'warning',
    meaning:
      'A member is missing in a class, and may come from a base class that drs-gen cannot read.',
  },
  'stub/not-renamed': {
    severity: 'error',
    meaning:
      'A class cannot get the new name that the model gives it: its file cannot be read, or uses the name already.',
  },
  'stub/not-searched': {
    severity: 'warning',
    meaning: 'A file is not TypeScript, so names that the model changed are not looked for in it.',
  },
  'stub/not-text': {
    severity: 'warning',
    meaning: 'A file of class code is a link, a folder or not UTF-8, so it is left alone.',
  },
  'stub/not-typescript': {
    severity: 'error',
    meaning: 'A file of class code is not TypeScript, so nothing can be added to it.',
  },
  'stub/old-name': {
    severity: 'warning',
    meaning: 'A text, or code without types, holds a name that the model changed, and may mean it.',
  },
  'stub/removed': {
    severity: 'warning',
    meaning: 'A class has a member that the model no longer declares.',
  },
  'stub/renamed-outside': {
    severity: 'warning',
    meaning: 'Code outside of class code uses something that the model renames.',
  },
  'stub/signature': {
    severity: 'warning',
    meaning: 'A member of a class has other parameters or another result than the model declares.',
  },
  'stub/two-classes': {
    severity: 'error',
    meaning:
      'Two files hold the same class of the model, so that drs-gen cannot tell which one is meant.',
  },
  'stub/unused-class': {
    severity: 'warning',
    meaning:
      'A class belongs to nothing in the model any more. Its file is moved to one that is not compiled.',
  },
  'stub/unused-job': {
    severity: 'warning',
    meaning:
      'The model no longer declares a job. The file with its code is moved to one that is not compiled.',
  },
} as const satisfies Readonly<Record<string, StubMessage>>;

export type StubCode = keyof typeof stubMessages;

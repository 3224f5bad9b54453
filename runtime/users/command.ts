import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { parseArgs, stripVTControlCharacters } from 'node:util';
import { longestCredential } from '../access/login-module.js';
import { hashPassword } from '../access/password.js';
import { foldName } from '../access/session.js';
import { type CommandOptions, withServerState } from '../http/database-plugin.js';
import { nearestName } from '../protocol/names.js';
import { disabledHash, isDisabled, StoredUsers, type User, type UserGrants } from './user-table.js';

const usage = `Usage: npm run users -- <command> [<name>] [options]

Manages the users who log in with a name and a password.

  list              prints the users, with their roles and privileges
  add <name>        adds a user, and asks for the password
  remove <name>     removes a user
  disable <name>    keeps a user from logging in
  enable <name>     lets the user log in again
  roles <name>      replaces the roles and privileges of a user
  password <name>   asks for a new password
  logout <name>     ends the sessions of a user

  --role <role>              a role that the user gets, for add and roles; repeatable
  --privilege <privilege>    a privilege that the user gets, for add and roles; repeatable
  --none                     for roles: the user has none any more
  -h, --help                 prints this

remove, disable, roles and password end the sessions of the user, too. A password is read from the
terminal, or is the first line of the standard input.

Exit codes: 0 done, 1 refused, or a database cannot be used, 2 the command line is wrong.
`;

type UsersOptions = Pick<CommandOptions, 'settings' | 'databases'>;

/** A mistake in the command line. */
class UsageError extends Error {}

interface Command {
  readonly name: string;
  readonly grants: UserGrants;
}

/** @returns what was done, in words */
type Verb = (users: StoredUsers, command: Command) => Promise<string>;

/** What is done to a user who exists. */
type Change = (users: StoredUsers, user: User, command: Command) => Promise<string>;

/**
 * `npm run users`: manages the users of the generated `src/login.ts`. Prints the list on stdout, and
 * what was done on stderr.
 */
export async function users(options: UsersOptions): Promise<void> {
  try {
    await run(options);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    process.stderr.write(`${message}\n${error instanceof UsageError ? `\n${usage}` : ''}`);
    process.exitCode = error instanceof UsageError ? 2 : 1;
  }
}

async function run(options: UsersOptions): Promise<void> {
  const { values, positionals } = commandLine();
  if (values.help) {
    process.stdout.write(usage);
    return;
  }
  const [verb = '', ...names] = positionals;
  const work = verbOf(verb, options);
  const command = commandOf(verb, names, values);
  const problems = [
    ...unknown('role', command.grants.roles, options),
    ...unknown('privilege', command.grants.privileges, options),
  ];
  if (problems.length > 0) throw new Error(problems.join('\n'));
  const stored = await StoredUsers.open(options.databases);
  try {
    process.stderr.write(await work(stored, command));
  } finally {
    await stored.close();
  }
}

function commandLine() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        role: { type: 'string', multiple: true, default: [] },
        privilege: { type: 'string', multiple: true, default: [] },
        none: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function commandOf(
  verb: string,
  [name, ...others]: readonly string[],
  { role, privilege, none }: ReturnType<typeof commandLine>['values'],
): Command {
  const hasGrants = role.length + privilege.length > 0;
  if (verb === 'list' ? name !== undefined : name === undefined || others.length > 0) {
    throw new UsageError(verb === 'list' ? 'list takes no name.' : `${verb} takes one name.`);
  }
  if (hasGrants && verb !== 'add' && verb !== 'roles') {
    throw new UsageError('--role and --privilege belong to add and roles.');
  }
  if (none && (verb !== 'roles' || hasGrants)) {
    throw new UsageError('--none belongs to roles, without --role and --privilege.');
  }
  if (verb === 'roles' && !hasGrants && !none) {
    throw new UsageError('Name each --role and --privilege that the user has, or --none.');
  }
  return { name: name ?? '', grants: { roles: role, privileges: privilege } };
}

function verbOf(verb: string, options: UsersOptions): Verb {
  const verbs: Readonly<Record<string, Verb>> = {
    list,
    add,
    remove: ending(options, async (stored, user) => {
      await stored.remove(user);
      return 'is removed';
    }),
    disable: ending(options, async (stored, user) => {
      await stored.change(user, { password: disabledHash(user.password, true) });
      return 'is disabled';
    }),
    enable: existing(async (stored, user) => {
      if (!isDisabled(user)) return `${user.name} can log in already.\n`;
      await stored.change(user, { password: disabledHash(user.password, false) });
      return `${user.name} can log in again.\n`;
    }),
    roles: ending(options, async (stored, user, { grants }) => {
      await stored.change(user, grants);
      return 'has other roles and privileges';
    }),
    password: ending(options, async (stored, user) => {
      const hash = await hashPassword(requirePassword(await readPassword()));
      await stored.change(user, { password: disabledHash(hash, isDisabled(user)) });
      return 'has another password';
    }),
    logout: ending(options, async (stored, user) => {
      await stored.endSessions(user);
      return 'is logged out';
    }),
  };
  const found = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
  if (found !== undefined) return found;
  if (verb === '') throw new UsageError('Name a command.');
  const near = nearestName(verb, Object.keys(verbs));
  const hint = near === undefined ? '' : ` Did you mean ${near}?`;
  throw new UsageError(`There is no command ${verb}.${hint}`);
}

const list: Verb = async (stored) => {
  for (const user of await stored.all()) {
    const parts = [
      user.name,
      isDisabled(user) ? 'disabled' : 'enabled',
      `roles: ${user.roles.join(', ') || 'none'}`,
      `privileges: ${user.privileges.join(', ') || 'none'}`,
    ];
    process.stdout.write(`${parts.map(printable).join('\t')}\n`);
  }
  return '';
};

const add: Verb = async (stored, { name, grants }) => {
  if (name.trim() === '' || printable(name) !== name || name.length > longestCredential) {
    throw new Error(
      `A user needs a name, of at most ${longestCredential} characters, without control characters.`,
    );
  }
  const existing = (): Error =>
    new Error(
      `${name} exists already. The commands roles and password change what a user may do, and the password.`,
    );
  if ((await stored.find(name)) !== undefined) throw existing();
  const password = requirePassword(await readPassword());
  if (!(await stored.add({ name, password, ...grants }))) throw existing();
  return `${name} can log in now.\n`;
};

/** A command for a user who exists. */
function existing(change: Change): Verb {
  return async (stored, command) => {
    const { name } = command;
    const user = await stored.find(name);
    if (user !== undefined) return change(stored, user, command);
    const near = nearestName(
      name,
      (await stored.all()).map((each) => each.name),
    );
    const hint = near === undefined ? '' : ` Did you mean ${near}?`;
    throw new Error(`There is no user ${printable(name)}.${hint}`);
  };
}

/** A command for a user who exists, after which no session of this user continues. */
function ending(options: UsersOptions, change: Change): Verb {
  return existing(async (stored, user, command) => {
    const done = await change(stored, user, command);
    try {
      await endStoredSessions(options, user.name);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new Error(
        `${user.name} ${done}, but the sessions that are in the database have not ended: ${reason}`,
        { cause: error },
      );
    }
    return `${user.name} ${done}, and all sessions of this user have ended.\n`;
  });
}

/** A server whose sessions are in its memory finds the user in the table: see `endedUsers`. */
async function endStoredSessions({ databases }: UsersOptions, userName: string): Promise<void> {
  const { endSessionsOf, stateSchema } = await import('../state/database-stores.js');
  await withServerState(databases, stateSchema, (state) => endSessionsOf(state, userName));
}

/**
 * The first line of the standard input; a terminal does not show it. Not an argument: arguments
 * appear in the list of processes and in the history of the shell.
 */
async function readPassword(): Promise<string> {
  const { stdin, stderr } = process;
  const nowhere = new Writable({
    write: (_chunk, _encoding, done) => {
      done();
    },
  });
  const lines = createInterface({ input: stdin, output: nowhere, terminal: stdin.isTTY });
  if (stdin.isTTY) stderr.write('Password: ');
  for await (const line of lines) {
    lines.close();
    if (stdin.isTTY) stderr.write('\n');
    return line;
  }
  return '';
}

function requirePassword(password: string): string {
  if (password !== '' && password.length <= longestCredential) return password;
  throw new Error(`A user needs a password, of at most ${longestCredential} characters.`);
}

/** Errors for names that the model does not declare: a session would ignore them. */
function unknown(
  kind: 'role' | 'privilege',
  names: readonly string[],
  { settings: { roles } }: UsersOptions,
): readonly string[] {
  // The privilege of administration needs no declaration.
  const known =
    kind === 'role'
      ? (roles?.roles ?? []).map(({ name }) => name)
      : [...(roles?.privileges ?? []).map(({ name }) => name), 'WebAdmin'];
  const declared = new Set(known.map(foldName));
  return names
    .filter((name) => !declared.has(foldName(name)))
    .map((name) => {
      const near = nearestName(name, known);
      const hint = near === undefined ? '' : ` Did you mean ${near}?`;
      const listed = known.length === 0 ? 'It has none.' : `It has ${known.join(', ')}.`;
      return `The model has no ${kind} ${name}.${hint} ${listed}`;
    });
}

/** A text that cannot change what a terminal shows. */
function printable(text: string): string {
  return stripVTControlCharacters(text).replaceAll(/\p{Cc}/gu, '');
}

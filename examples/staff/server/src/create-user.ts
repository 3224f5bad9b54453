import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { parseArgs } from 'node:util';
import { nearestName } from '#runtime/access';
import { settings } from './generated/settings.js';
import { createUser, findUser } from './users.js';

const usage = 'node dist/src/create-user.js <name> [--role <role>]... [--privilege <privilege>]...';

const declared = {
  role: (settings.roles?.roles ?? []).map(({ name }) => name),
  // The privilege of administration needs no declaration.
  privilege: [...(settings.roles?.privileges ?? []).map(({ name }) => name), 'WebAdmin'],
};

try {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      role: { type: 'string', multiple: true, default: [] },
      privilege: { type: 'string', multiple: true, default: [] },
    },
  });
  const [name, ...others] = positionals;
  if (name === undefined || others.length > 0) throw new Error(`Usage: ${usage}`);
  const problems = [...unknown('role', values.role), ...unknown('privilege', values.privilege)];
  if (problems.length > 0) throw new Error(problems.join('\n'));
  if ((await findUser(name)) !== undefined) {
    process.stderr.write(`${name} exists already: password, roles and privileges are replaced.\n`);
  }
  const password = await askPassword();
  await createUser({ name, password, roles: values.role, privileges: values.privilege });
  process.stderr.write(`${name} can log in now.\n`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

/** The error for names that the model does not declare: a session would ignore them. */
function unknown(kind: keyof typeof declared, names: readonly string[]): readonly string[] {
  const known = declared[kind];
  const folded = new Set(known.map(fold));
  return names
    .filter((name) => !folded.has(fold(name)))
    .map((name) => {
      const nearest = nearestName(name, known);
      const hint = nearest === undefined ? '' : ` Did you mean ${nearest}?`;
      const listed = known.length === 0 ? 'It has none.' : `It has ${known.join(', ')}.`;
      return `The model has no ${kind} ${name}.${hint} ${listed}`;
    });
}

/** Roles and privileges are compared without regard to case. */
function fold(name: string): string {
  return name.normalize('NFC').toLowerCase();
}

/** Not an argument: arguments appear in the list of processes and in the history of the shell. */
async function askPassword(): Promise<string> {
  const { stdin } = process;
  const nowhere = new Writable({
    write: (_chunk, _encoding, done) => {
      done();
    },
  });
  const lines = createInterface({ input: stdin, output: nowhere, terminal: stdin.isTTY });
  if (stdin.isTTY) process.stderr.write('Password: ');
  for await (const line of lines) {
    lines.close();
    if (stdin.isTTY) process.stderr.write('\n');
    return line;
  }
  return '';
}

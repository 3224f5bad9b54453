import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { parseArgs } from 'node:util';
import { createUser } from './users.js';

const usage = 'node dist/src/create-user.js <name> [--role <role>]... [--privilege <privilege>]...';

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
  const password = await askPassword();
  await createUser({ name, password, roles: values.role, privileges: values.privilege });
  process.stderr.write(`${name} can log in now.\n`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

/** Not an argument: those stand in the list of processes and in the history of the shell. */
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

import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';

/**
 * The first line of the standard input; a terminal does not show it. Not an argument: arguments
 * appear in the list of processes and in the history of the shell.
 */
export async function readPassword(): Promise<string> {
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

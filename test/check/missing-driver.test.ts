import { expect, it } from 'vitest';
import { openProbe } from '../../generator/check/expressions.js';
import { MissingDriver } from '../../generator/check/missing-driver.js';

it.each([
  ['is not installed', () => thrown(`Cannot find module 'better-sqlite3'\nRequire stack:`)],
  ['has no binary', () => Database],
  ['was installed for another Node', () => OfAnotherNode],
])('A driver that %s is reported with the command that installs it', (_what, load) => {
  expect(() => openProbe(load)).toThrow(MissingDriver);
  expect(() => openProbe(load)).toThrow(/npm install-scripts approve better-sqlite3/);
  expect(() => openProbe(load)).not.toThrow(/\n/);
});

function Database(): void {
  thrown('Could not locate the bindings file. Tried:\n → /build/better_sqlite3.node');
}

function OfAnotherNode(): void {
  thrown(
    "The module 'better_sqlite3.node'\nwas compiled against a different Node.js version using\nNODE_MODULE_VERSION 127.",
  );
}

it('A driver that was installed for another Node is reported as that', () => {
  const words = `(it was installed for another version of Node than ${process.version})`;
  expect(() => openProbe(() => OfAnotherNode)).toThrow(words);
});

function thrown(message: string): never {
  throw new Error(message);
}

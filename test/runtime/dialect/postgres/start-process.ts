import { openConnections } from '../../../../runtime/dialect/postgres/open.js';

/** A start in a process of its own, which a test may kill: it prints what is logged, and `started` at its end. */
interface Given {
  readonly url: string;
  readonly statements: readonly string[];
  readonly functions: readonly string[];
}

const { url, statements, functions } = JSON.parse(process.argv[2] ?? '') as Given;
const log = (words: string): void => {
  process.stdout.write(`${words}\n`);
};
const { executor } = await openConnections(
  { url, size: 2, queryTimeout: null },
  { statements, functions, log },
);
await executor.close();
log('started');

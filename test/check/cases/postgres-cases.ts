import type { ProblemCase } from './case.js';

/** A model for PostgreSQL with the given dataclasses, which are indented by two spaces. */
function onPostgres(dataclasses: string, database = 'postgres'): string {
  return `drs: 1\nname: test\ndatabase: ${database}\nroles: { restrictedByDefault: false }\ndataclasses:\n${dataclasses}`;
}

const long = 'é'.repeat(32);
const nearlyLong = 'n'.repeat(55);

export const postgresCases: readonly ProblemCase[] = [
  {
    name: 'names',
    yaml: onPostgres(`  A:
    table: <<a>>pg_things
    attributes:
      ID: { type: integer, key: true }
      <<b>>${long}: string
      <<c>>${nearlyLong}: { type: string, indexed: true }
      x: { type: string, column: <<d>>xmin }
      <<e>>v${nearlyLong}x: { type: vector, dimensions: 2 }
      <<f>>ctid: { computed: integer, expression: '1' }
      XMAX: string
  B:
    table: <<g>>${long}
    attributes:
      ID: { type: integer, key: true }
      <<h>>f${'o'.repeat(57)}éé: { to: A }
  C:
    table: Pg_others
    attributes:
      ID: { type: integer, key: true }
      y${nearlyLong}: string
`),
    expected: ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((at) => ({
      code: 'sql/bad-name' as const,
      at,
    })),
  },
  {
    name: 'names that SQLite takes',
    yaml: onPostgres(
      `  A: { attributes: { ID: { type: integer, key: true }, ${long}: string, xmin: string } }\n`,
      'sqlite',
    ),
    expected: [],
  },
  {
    name: 'columns',
    yaml: onPostgres(`  <<a>>A:
    attributes:
      ID: { type: integer, key: true }
${Array.from({ length: 800 }, (_, index) => `      a${index}: { type: string, indexed: true }\n`).join('')}`),
    expected: [{ code: 'sql/too-many-columns', at: 'a' }],
  },
  {
    name: 'expressions without an equal',
    yaml: onPostgres(
      `  A:
    attributes:
      ID: { type: integer, key: true }
      name: string
      salary: number
      extra: object
      a: { computed: string, expression: <<a>>"printf('%d', salary)" }
      b: { computed: boolean, expression: <<b>>"name > salary" }
      c: { computed: string, expression: <<c>>"coalesce(name, salary)" }
      d: { computed: integer, expression: <<d>>"1 << 3" }
      e: { computed: boolean, expression: <<e>>"json_extract(extra, '$.x') = 1" }
      f: { computed: boolean, expression: <<f>>"name = 'x' COLLATE NOCASE" }
      g: { computed: boolean, expression: <<g>>"name GLOB 'x*'" }
      h: { computed: date, expression: <<h>>"date(name, 'weekday 1')" }
      i: { computed: string, expression: <<i>>"nope(" }
      j: { computed: string, expression: <<j>>"nope" }
      k: { computed: integer, expression: "salary / 2 + length(name)" }
`,
      '[sqlite, postgres]',
    ),
    expected: [
      ...['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((at) => ({
        code: 'computed/not-portable' as const,
        at,
      })),
      { code: 'computed/not-one-expression', at: 'i' },
      { code: 'computed/bad-expression', at: 'j' },
    ],
  },
];

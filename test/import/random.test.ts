import { join } from 'node:path';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { readBase } from '../../generator/import/merge.js';
import { namesOf, renderedDataclass } from '../../generator/import/render.js';
import { imported, workplace, type Workplace } from './importer.js';
import { sampled } from '../support/long.js';

/** Names that something gives a meaning to, and names that differ little. */
const name = fc.constantFrom(
  ...[
    'a',
    'A',
    'a_',
    'a_2',
    'a b',
    'id',
    'ID',
    'ID_',
    'key',
    'save',
    'session',
    'stamp',
    'uri',
    'ds',
    'Ds',
  ],
  ...[
    'constructor',
    '__proto__',
    '__STAMP',
    'toString',
    'then',
    'count',
    'first',
    'min',
    'query',
    'restrict',
  ],
  ...[
    'null',
    'true',
    '1',
    '1st',
    '-',
    ' ',
    'é',
    'e\u0301',
    '名前',
    '🙂',
    'a.b',
    'x as y',
    'sqlite_x',
    'pg_x',
    'pragma_x',
  ],
  ...[
    'json_each',
    'DataStore',
    'aSelection',
    'aEntity',
    'a_id',
    'a_ref',
    'a_value',
    'saving',
    'dropping',
    'all',
    'new',
  ],
  ...[
    'n'.repeat(63),
    'n'.repeat(64),
    'ä'.repeat(63),
    `${'n'.repeat(62)}_`,
    '"',
    "'",
    '`',
    '<b>',
    '{{x}}',
    '*/',
    '#',
    ':',
    '@',
  ],
);

/** Texts in which YAML finds a meaning, over several lines too. */
const text = fc
  .array(
    fc.oneof(
      name,
      fc.constantFrom(
        ...[
          '\n',
          '\n\n',
          '\n ',
          ' \n',
          '\t',
          ' ',
          ':',
          ': ',
          ':\n',
          ' #',
          '- ',
          '? ',
          ', ',
          '\\',
          '%',
        ],
        ...[
          '[',
          ']',
          '{',
          '}',
          '&a ',
          '*a',
          '!',
          '|',
          '>',
          '---',
          '...',
          '<<',
          '~',
          'yes',
          'no',
          'off',
        ],
        ...[
          '1e3',
          '0x1',
          '1_0',
          '012',
          '.inf',
          '2024-01-01',
          '\u2028',
          '\u2029',
          '\u0085',
          '\ufeff',
        ],
        'Options for the form:\n\nleft: 1\nright: 2',
        'word '.repeat(400),
      ),
    ),
    { minLength: 1, maxLength: 6 },
  )
  .map((parts) => parts.join(''));

/** The model file says what the import has made of the source, whatever texts that holds. */
function expectAsDrafted(place: Workplace): void {
  const lock = readBase(place.text('.drs-gen/import.lock.json'));
  if (lock === undefined) throw new Error('The lock is none.');
  const names = new Map([...namesOf(lock.draft), ...Object.entries(lock.names)]);
  const { dataclasses } = parse(place.text('model.yaml')) as { dataclasses: unknown };
  expect(dataclasses).toEqual(
    Object.fromEntries(
      lock.draft.dataclasses.map((each) => [
        names.get(each.id),
        // Without what is undefined.
        JSON.parse(JSON.stringify(renderedDataclass(each, names))),
      ]),
    ),
  );
}

const index = fc.nat({ max: 7 });
const pick = <Value>(values: readonly Value[], at: number): Value | undefined =>
  values.length === 0 ? undefined : values[at % values.length];

const xml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

const catalogField = fc.record({
  name,
  comment: text,
  type: fc.constantFrom(1, 3, 4, 5, 6, 8, 9, 10, 10, 10, 12, 15, 16, 18, 21, 99),
  flags: fc.subarray([
    'unique',
    'not_null',
    'never_null',
    'autosequence',
    'autogenerate',
    'store_as_UUID',
    'hide_in_REST',
  ]),
});

const catalogs = fc.record({
  tables: fc.array(
    fc.record({
      name,
      comment: text,
      fields: fc.array(catalogField, { maxLength: 7 }),
      key: index,
      isHidden: fc.boolean(),
      isTwice: fc.boolean(),
    }),
    { minLength: 1, maxLength: 5 },
  ),
  relations: fc.array(
    fc.record({
      one: name,
      many: name,
      from: fc.tuple(index, index),
      to: fc.tuple(index, index),
      rule: fc.constantFrom('', 'delete', 'reject'),
    }),
    { maxLength: 8 },
  ),
  indexes: fc.array(
    fc.record({
      table: index,
      fields: fc.array(index, { minLength: 1, maxLength: 3 }),
      isUnique: fc.boolean(),
    }),
    { maxLength: 4 },
  ),
});

type Catalog = typeof catalogs extends fc.Arbitrary<infer Value> ? Value : never;

/** @param after what comments end with */
function catalogText({ tables, relations, indexes }: Catalog, after: string): string {
  const extra = (kind: string, comment: string): string =>
    `<${kind}_extra><comment>${xml(comment + after)}</comment></${kind}_extra>`;
  const uuid = (table: number, field: number): string =>
    `${String(table % tables.length)}-${String(field % Math.max(1, tables[table % tables.length]?.fields.length ?? 1))}`;
  const ref = (table: number, field: number): string => `<field_ref uuid="${uuid(table, field)}"/>`;
  return `<base name="">${tables
    .map(
      ({ name: called, comment, fields, key, isHidden, isTwice }, at) =>
        `<table name="${xml(called)}" uuid="${isTwice ? 'same' : String(at)}" ${isHidden ? 'hide_in_REST="true"' : ''}>${fields
          .map(
            (each, column) =>
              `<field name="${xml(each.name)}" uuid="${uuid(at, column)}" type="${String(each.type)}" limiting_length="5" ${each.flags.map((flag) => `${flag}="true"`).join(' ')}>${extra('field', each.comment)}</field>`,
          )
          .join('')}<primary_key field_uuid="${uuid(at, key)}"/>${extra('table', comment)}</table>`,
    )
    .join('')}${relations
    .map(
      (each, at) =>
        `<relation uuid="r${String(at)}" name_Nto1="${xml(each.one)}" name_1toN="${xml(each.many)}" integrity="${each.rule}"><related_field kind="source">${ref(...each.from)}</related_field><related_field kind="destination">${ref(...each.to)}</related_field></relation>`,
    )
    .join('')}${indexes
    .map(
      (each) =>
        `<index kind="regular" unique_keys="${String(each.isUnique)}">${each.fields.map((column) => ref(each.table, column)).join('')}</index>`,
    )
    .join('')}</base>`;
}

it('A catalog of any names, texts, keys and relations becomes a model that says the same', async () => {
  await fc.assert(
    fc.asyncProperty(catalogs, fc.boolean(), text, async (catalog, adds, after) => {
      const place = workplace();
      place.put('catalog.4DCatalog', catalogText(catalog, ''));
      const options = [...(adds ? ['--keyless', 'add'] : []), '--blank-defaults'];
      const { code, out } = await place.import('.', '--dry-run', '--json', ...options);
      if (code === 1) expect(out).toContain('import/empty');
      else {
        const { model } = await imported(place, '.', ...options);
        expect(model.checked.value).toBeDefined();
        expectAsDrafted(place);
        const before = place.text('model.yaml');
        await imported(place, '.', ...options);
        expect(place.text('model.yaml')).toBe(before);
        place.put('catalog.4DCatalog', catalogText(catalog, after));
        await imported(place, '.', ...options);
        expectAsDrafted(place);
      }
    }),
    { numRuns: sampled(60) },
  );
});

const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;

const literal = (value: string): string => `'${value.replaceAll("'", "''")}'`;

const sqliteColumn = fc.record({
  name: name.filter((each) => each !== ' '),
  type: fc.constantFrom(
    '',
    'INTEGER',
    'TEXT',
    'CHAR(36)',
    'BLOB',
    'BOOLEAN',
    'DATE',
    'JSON',
    'DECIMAL(3)',
    'DECIMAL(6,2)',
    'TIME',
    'GUID',
  ),
  values: fc.option(fc.array(text, { minLength: 1, maxLength: 3 })),
  rest: fc.constantFrom(
    '',
    'NOT NULL',
    'UNIQUE',
    'NOT NULL UNIQUE',
    "DEFAULT 'x'",
    'DEFAULT 1',
    'DEFAULT CURRENT_DATE',
    'DEFAULT (1+1)',
  ),
  target: fc.option(fc.tuple(index, index)),
});

const databases = fc.array(
  fc.record({
    name: name.filter((each) => !/^sqlite_/.test(each)),
    columns: fc.uniqueArray(sqliteColumn, {
      minLength: 1,
      maxLength: 7,
      selector: (each) => each.name.toLowerCase(),
    }),
    key: fc.array(index, { maxLength: 2 }),
  }),
  { minLength: 1, maxLength: 5 },
);

it('A SQLite file of any names, types, values and rules becomes a model that says the same', async () => {
  await fc.assert(
    fc.asyncProperty(databases, fc.constantFrom('keep', 'camel'), async (tables, names) => {
      const place = workplace();
      const database = new Database(join(place.folder, 'x.db'));
      for (const { name: called, columns, key } of tables) {
        const list = columns.map(({ name: column, type, rest, values, target }) => {
          const other = target === null ? undefined : pick(tables, target[0]);
          const to = target === null ? undefined : pick(other?.columns ?? [], target[1]);
          const references =
            other === undefined
              ? ''
              : `REFERENCES ${quoted(other.name)}${to === undefined ? '' : ` (${quoted(to.name)})`}`;
          const rule =
            values === null ? '' : `CHECK (${quoted(column)} IN (${values.map(literal).join()}))`;
          const fallback =
            values === null || rest.includes('DEFAULT')
              ? ''
              : `DEFAULT ${literal(values[0] ?? '')}`;
          return `${quoted(column)} ${type} ${rest} ${fallback} ${rule} ${references}`;
        });
        const keys = [...new Set(key.map((at) => pick(columns, at)?.name ?? ''))].map(quoted);
        if (keys.length > 0) list.push(`PRIMARY KEY (${keys.join(', ')})`);
        database.exec(`CREATE TABLE IF NOT EXISTS ${quoted(called)} (${list.join(', ')})`);
      }
      database.close();
      const { code } = await place.import('x.db', '--dry-run', '--names', names);
      expect([0, 2]).toContain(code);
      // 2: by chance the tables look like those of a server.
      if (code !== 0) return;
      await imported(place, 'x.db', '--names', names);
      expectAsDrafted(place);
    }),
    { numRuns: sampled(60) },
  );
});

import { cpSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { typeErrors } from '../support/type-errors.js';
import { typedRuntime } from '../support/built-runtime.js';
import { packageRoot, serverOf, writeServer } from '../support/server.js';
import { catalogOf, field, relation, table, uuidKey } from './catalogs.js';
import { imported, workplace } from './importer.js';

const folder = join(packageRoot, '.tmp', `imported-${String(process.pid)}`);

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

function keyed(name: string, fields: readonly string[], extra = ''): string {
  const [key, primary] = uuidKey(name);
  return table(name, [key, ...fields], `${primary}${extra}`);
}

const catalog = catalogOf(
  keyed('Line Items', [field('key', 10), field('save', 4), field('photo', 12), field('order', 10)]),
  keyed(
    'Order',
    [field('total', 6), field('code', 10, 'unique="true"'), field('parent', 10)],
    '<table_extra trigger_insert="true"/>',
  ),
  relation(['order', 'items'], ['F-order', '', ''], ['K-Order', '', '']),
  relation(['parent_', 'children'], ['F-parent', '', ''], ['F-code', '', '']),
);

const classes = {
  'Order.4dm':
    'Class extends DataClass\nexposed Function find($a : Text) : cs.OrderSelection\nFunction event restrict()\n',
  'OrderEntity.4dm':
    'Class extends Entity\nexposed Function get label : Text\n// end */ of\nexposed Function pay($sum : Real)\n',
  'DataStore.4dm': 'Class extends DataStoreImplementation\nexposed Function authentify()\n',
};

it('An imported project is generated, compiles with its class files, and answers', async () => {
  const place = workplace();
  place.put('Shop/Project/Sources/catalog.4DCatalog', catalog);
  for (const [name, text] of Object.entries(classes)) {
    place.put(`Shop/Project/Sources/Classes/${name}`, text);
  }
  const { model } = await imported(place, 'Shop');
  const checked = model.checked.value;
  if (checked === undefined) throw new Error('The model has errors.');
  cpSync(writeServer(checked, {}, await typedRuntime()), folder, { recursive: true });
  const own = readdirSync(join(place.folder, 'classes'));
  expect(own.length).toBe(3);
  for (const name of own) {
    cpSync(join(place.folder, 'classes', name), join(folder, 'src/classes', name));
  }
  expect(typeErrors(folder)).toEqual([]);
  const written = Object.fromEntries(
    own.map((name) => [
      `src/classes/${name}`,
      // The filter of restrict is the user's to write.
      readFileSync(join(place.folder, 'classes', name), 'utf8').replace(
        /throw notWritten\([^;]*restrict[^;]*;/,
        'return null;',
      ),
    ]),
  );
  const app = await serverOf(checked, {}, written);
  try {
    const { statusCode, body } = await app.inject({ url: '/rest/Line_Items' });
    expect([statusCode, body]).toEqual([200, expect.stringContaining('"__COUNT":0')]);
    expect(
      (await app.inject({ url: '/rest/Order/find', method: 'POST', payload: '[]' })).statusCode,
    ).toBe(501);
  } finally {
    await app.close();
  }
});

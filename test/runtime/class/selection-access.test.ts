import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  dataclassOfSelection,
  requestOfSelection,
  selectionKeys,
  selectionOfKeys,
} from '../../support/selection-access.js';
import { selectionOf } from '../../../runtime/class/objects/selection.js';
import { linkDataclasses } from '../../../runtime/dataclass/dataclasses.js';
import { readPage } from '../../../runtime/query/page.js';
import { readParameters } from '../../../runtime/query/parameters.js';
import {
  createStaff,
  type EmployeeSelection,
  type ServedSelections,
  serveSelections,
  type TestDatastore,
} from '../../support/selections-served.js';

let served: ServedSelections;
let ds: TestDatastore;

beforeAll(async () => {
  served = await serveSelections();
  ({ ds } = served);
  await createStaff(served.app);
});
afterAll(() => served.app.close());

interface Collection {
  readonly __COUNT: number;
  readonly __FIRST: number;
  readonly __ENTITIES: readonly Readonly<Record<string, unknown>>[];
}

/** A page as a client gets it, who may use only exposed attributes. */
async function page(
  selection: object,
  attributes: string,
  paging: { readonly skip: number | undefined; readonly top: number | undefined },
): Promise<Collection> {
  const { code } = selectionOf(selection);
  const { model: context } = code.host;
  const request = requestOfSelection(selection);
  const { dataclass } = request;
  const parameters = { ...readParameters({}, 'read'), attributes, ...paging };
  const page = { format: 'collection', dataclass, parameters } as const;
  const answer = await readPage(context, request, page);
  if (answer === undefined) throw new Error('A selection has an answer.');
  return JSON.parse(Buffer.from(answer).toString()) as Collection;
}

describe('A selection of class code, as the result of a function,', () => {
  it('is a page in its order', async () => {
    const paid = ds.Company.query('secret = null').staff.orderBy('salary desc');
    const first = await page(paid, 'lastName,employer.name', { skip: undefined, top: 2 });
    expect(first.__COUNT).toBe(4);
    expect(first.__ENTITIES.map((each) => each['lastName'])).toEqual(['Dunn', 'cole']);
    const rest = await page(paid.slice(1), 'lastName', { skip: 1, top: undefined });
    expect(rest).toMatchObject({ __COUNT: 3, __FIRST: 1 });
    expect(rest.__ENTITIES.map((each) => each['lastName'])).toEqual(['Bell', 'Adam']);
    const appended = ds.Employee.query('ID > 3').or(ds.Employee.fromKeys([2, 1]));
    const all = await page(appended, 'ID', { skip: undefined, top: undefined });
    expect(all.__ENTITIES.map((each) => each['ID'])).toEqual([4, 5, 2, 1]);
  });

  it('does not let a client use the hidden attributes of the selection', async () => {
    const some = ds.Company.query('secret = null');
    await expect(page(some, 'secret', { skip: undefined, top: 1 })).rejects.toMatchObject({
      errors: [{ errCode: 1500 }, {}],
    });
  });

  it('is a request of the dataclass as a session sees it', () => {
    const { dataclass } = selectionOf(ds.Company.all()).code;
    const definition = {
      name: dataclass.name,
      table: dataclass.table,
      collectionName: 'companies',
      exposed: true,
      key: dataclass.key.name,
      queries: dataclass.queries,
      attributes: dataclass.attributes
        .filter(({ kind }) => kind === 'storage')
        .map((each) => (each.name === 'city' ? { ...each, exposed: false as const } : each)),
    };
    const view = linkDataclasses([definition]).get('Company');
    const some = ds.Company.query("city = 'Paris'");
    expect(requestOfSelection(some, view).dataclass).toBe(view);
    expect(requestOfSelection(some).name).toBe(requestOfSelection(some, view).name);
  });

  it('has keys, of which a selection is made again', async () => {
    const order = ds.Employee.query('salary > 100').orderBy('lastName desc');
    const keys = await selectionKeys(order);
    expect([...keys]).toEqual([4, 3, 2]);
    const { code } = selectionOf(order);
    const again = selectionOfKeys(code, keys) as EmployeeSelection;
    expect((await again.toArray()).map(({ ID }) => ID)).toEqual([4, 3, 2]);
    expect([...(await selectionKeys(ds.Badge.all().orderBy('owner, code desc')))]).toEqual([
      'Red',
      'green',
      'BLUE',
    ]);
  });

  it('is distinguished from other values', () => {
    expect(dataclassOfSelection(ds.Employee.all())?.name).toBe('Employee');
    for (const other of [null, undefined, 'x', [], ds.Employee.new(), ds.Employee]) {
      expect(dataclassOfSelection(other)).toBeUndefined();
    }
  });
});

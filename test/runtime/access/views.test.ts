import { describe, expect, it } from 'vitest';
import { DeclaredPrivileges } from '../../../runtime/permissions/privileges.js';
import { type View, Views } from '../../../runtime/permissions/views.js';
import type {
  DataAccess,
  DataclassDefinition,
  FunctionDefinition,
} from '../../../runtime/protocol/definition.js';
import { noQueries } from '../../support/no-queries.js';

function dataclass(name: string, access?: DataAccess, note?: DataAccess): DataclassDefinition {
  const column = (attribute: string): { name: string; column: string; kind: 'storage' } => ({
    name: attribute,
    column: attribute,
    kind: 'storage',
  });
  return {
    name,
    table: name,
    collectionName: `${name}Selection`,
    exposed: true,
    key: 'ID',
    queries: noQueries,
    attributes: [
      { ...column('ID'), type: 'integer', key: true },
      { ...column('note'), type: 'string', ...(note === undefined ? {} : { access: note }) },
      {
        name: 'other',
        kind: 'relatedEntity',
        target: 'Other',
        foreignKey: 'otherID',
        onDelete: 'setNull',
      },
      { ...column('otherID'), type: 'integer' },
    ],
    ...(access === undefined ? {} : { access }),
  };
}

function user(...privileges: readonly string[]): {
  readonly isGuest: boolean;
  readonly privileges: ReadonlySet<string>;
} {
  return { isGuest: false, privileges: new Set(privileges) };
}

const guest = { isGuest: true, privileges: new Set<string>() };

/** The views of a model themselves. */
function viewsOf(
  definitions: readonly DataclassDefinition[],
  functions: readonly FunctionDefinition[] = [],
): Views<View> {
  return new Views(definitions, functions, (view) => view);
}

function shownOf(view: View, name: string): string[] {
  return [...(view.dataclasses.get(name)?.exposedAttributes.keys() ?? [])];
}

describe('Views', () => {
  const definitions = [
    dataclass('Tree', { read: ['a', 'b'] }, { read: ['b'], update: ['c'] }),
    dataclass('Other'),
  ];

  it('answer guests and users otherwise, though they share what they hold', () => {
    const views = viewsOf(definitions);
    const privileges = new Set(['c']);
    expect(views.of({ isGuest: true, privileges }).status).toBe(401);
    expect(views.of({ isGuest: false, privileges }).status).toBe(403);
  });

  it('are shared by sessions whose privileges open the same', () => {
    const views = viewsOf(definitions);
    expect(views.of(user('a'))).toBe(views.of(user('a', 'unrelated')));
    expect(views.of(user('a'))).not.toBe(views.of(user('b')));
    expect(views.of(guest)).toBe(views.of(guest));
    // Both see the same, and are told another status.
    expect(views.of(user())).not.toBe(views.of(guest));
    expect(views.of(user()).status).toBe(403);
    expect(views.of(guest).status).toBe(401);
  });

  it('have the same plans if the same may be read, whatever may be written', () => {
    const views = viewsOf(definitions);
    const visible = (...privileges: string[]): string => views.of(user(...privileges)).visible;
    expect(visible('b', 'c')).toBe(visible('b'));
    expect(visible()).toBe(views.of(guest).visible);
    expect(new Set([visible(), visible('a'), visible('b')]).size).toBe(3);
  });

  it('leave out what may not be read', () => {
    const views = viewsOf(definitions);
    expect(shownOf(views.of(guest), 'Tree')).toEqual([]);
    expect(shownOf(views.of(user('a')), 'Tree')).toEqual(['ID', 'other', 'otherID']);
    expect(shownOf(views.of(user('b')), 'Tree')).toEqual(['ID', 'note', 'other', 'otherID']);
    expect(views.of(user('b', 'c')).dataclasses.get('Tree')?.permissions).toBeUndefined();
    expect(views.of(user('b')).dataclasses.get('Tree')?.permissions).toMatchObject({
      read: true,
      update: true,
      notUpdated: new Set(['note']),
    });
  });

  it('are cached in a limited number, the most recently used ones', () => {
    const many = Array.from({ length: 100 }, (_, index) => `p${index}`);
    const views = viewsOf([dataclass('Tree', { read: many })]);
    const first = views.of(user('p0'));
    const second = views.of(user('p1'));
    for (const name of many.slice(2, 64)) views.of(user(name));
    expect(views.of(user('p0'))).toBe(first);
    for (const name of many.slice(64, 66)) views.of(user(name));
    expect(views.of(user('p0'))).toBe(first);
    expect(views.of(user('p1'))).not.toBe(second);
  });

  it('treat a relation and its foreign key as one value', () => {
    const [tree, other] = [dataclass('Tree'), dataclass('Other')];
    const closed = {
      ...tree,
      attributes: tree.attributes.map((each) =>
        each.name === 'other' ? { ...each, access: { update: ['a'] } } : each,
      ),
    };
    const { permissions } = viewsOf([closed, other]).of(guest).dataclasses.get('Tree') ?? {};
    expect(permissions?.notUpdated).toEqual(new Set(['other', 'otherID']));
  });

  it('list in the catalog what may be read or described', () => {
    const described = [
      dataclass('Tree', { read: ['a'], describe: ['guest'] }, { read: ['b'] }),
      dataclass('Other', { read: ['a'] }),
      dataclass('Plain'),
    ];
    const { catalog } = viewsOf(described).of(guest);
    expect(catalog.map((each) => each.name)).toEqual(['Tree', 'Plain']);
    const names = catalog[0]?.attributes.filter((each) => each.exposed !== false);
    expect(names?.map((each) => each.name)).toEqual(['ID', 'other', 'otherID']);
    const plain = catalog[1]?.attributes.filter((each) => each.exposed !== false);
    expect(plain?.map((each) => each.name)).toEqual(['ID', 'note', 'otherID']);
  });

  it('list the functions that may be called in a dataclass that may not be read', () => {
    const hire = { name: 'hire', params: [], returns: 'void', access: ['guest'] } as const;
    const withFunction = (rest: Pick<FunctionDefinition, 'level' | 'promote' | 'access'>) =>
      viewsOf([{ ...dataclass('Tree', { read: ['a'] }), functions: [{ ...hire, ...rest }] }]).of(
        guest,
      ).catalog;
    const [listed] = withFunction({ level: 'dataclass' });
    expect(listed?.functions?.map(({ name }) => name)).toEqual(['hire']);
    expect(listed?.attributes.every(({ exposed }) => exposed === false)).toBe(true);
    expect(withFunction({ level: 'entity', promote: ['A'] })).toHaveLength(1);
    expect(withFunction({ level: 'entity' })).toEqual([]);
    expect(withFunction({ level: 'dataclass', access: ['a'] })).toEqual([]);
  });

  it('list functions that may be called or described', () => {
    const hire: FunctionDefinition = {
      name: 'hire',
      level: 'entity',
      params: [],
      returns: 'void',
      access: ['boss'],
    };
    const views = viewsOf([dataclass('Other')], [hire]);
    expect(views.of(user('boss')).lists(hire)).toBe(true);
    expect(views.of(guest).lists(hire)).toBe(false);
    expect(views.of(guest).lists({ ...hire, describe: ['guest'] })).toBe(true);
  });
});

it('Privileges are resolved in any case, with those that they include, and without unknown ones', () => {
  const declared = new DeclaredPrivileges({
    forceLogin: false,
    privileges: [
      { name: 'Edit', includes: ['Edit', 'View', 'none'] },
      { name: 'View', includes: ['View'] },
      { name: 'Höhe', includes: ['Höhe'] },
    ],
    roles: [{ name: 'The Doctor', privileges: ['Edit'] }],
  });
  expect(declared.resolve(['EDIT'], [])).toEqual(new Set(['edit', 'view']));
  expect(declared.resolve([], ['the doctor'])).toEqual(new Set(['edit', 'view']));
  expect(declared.resolve(['none', 'guest', 'edits', 'HÖHE'], ['nobody'])).toEqual(
    new Set(['höhe']),
  );
  expect(declared.resolve(['WebAdmin'], [])).toEqual(new Set(['webadmin']));
});

it('Privileges and roles that were renamed are also known under their earlier names', () => {
  const declared = new DeclaredPrivileges({
    forceLogin: false,
    privileges: [
      { name: 'change', renamedFrom: ['write', 'Edit'], includes: ['change', 'view'] },
      { name: 'view', includes: ['view'] },
    ],
    roles: [{ name: 'agent', renamedFrom: ['clerk'], privileges: ['change'] }],
  });
  for (const name of ['change', 'write', 'edit']) {
    expect(declared.resolve([name], [])).toEqual(new Set(['change', 'view']));
  }
  expect(declared.resolve([], ['Clerk'])).toEqual(declared.resolve([], ['agent']));
});

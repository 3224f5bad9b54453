import { describe, expect, it } from 'vitest';
import { catalogOf, field, relation, table, uuidKey } from './catalogs.js';
import { attributesOf, imported, workplace, type Workplace } from './importer.js';

function keyed(name: string, fields: readonly string[]): string {
  const [key, primary] = uuidKey(name);
  return table(name, [key, ...fields], primary);
}

const companyFields = [field('name', 10, 'limiting_length="20"'), field('city', 10)];
const personFields = [field('company_id', 10), field('salary', 6), field('Old Name', 10)];
const link = relation(['company', 'staff'], ['F-company_id', '', ''], ['K-Company', '', '']);

const first = catalogOf(keyed('Company', companyFields), keyed('Person', personFields), link);

function placeOf(catalog: string): Workplace {
  const place = workplace();
  change(place, catalog);
  return place;
}

function change(place: Workplace, catalog: string): void {
  place.put('Shop/Project/Sources/catalog.4DCatalog', catalog);
}

function edit(place: Workplace, ...changes: readonly (readonly [string, string])[]): void {
  let text = place.text('model.yaml');
  for (const [before, after] of changes) {
    expect(text).toContain(before);
    text = text.replace(before, after);
  }
  place.put('model.yaml', text);
}

describe('a second import', () => {
  it('changes no byte if neither the source nor the model has changed', async () => {
    const place = placeOf(first);
    place.put(
      'Shop/Project/Sources/roles.json',
      JSON.stringify({ privileges: [{ privilege: 'a', includes: [] }] }),
    );
    await imported(place, 'Shop');
    const texts = (): readonly string[] =>
      place.files().map((path) => `${path}\n${place.text(path)}`);
    const before = texts();
    await imported(place, 'Shop');
    expect(texts()).toEqual(before);
  });

  it('keeps what the user has edited, and changes what the source has changed', async () => {
    const place = placeOf(first);
    await imported(place, 'Shop');
    edit(
      place,
      ['  Company:', '  # Who we sell to\n  Company:\n    description: Ours'],
      ['      city: string', '      city: { type: string, exposed: false } # not for clients'],
      ['  Person:', '  Employee:\n    table: Person'],
      ['to: Person', 'to: Employee'],
      ['salary: number', 'wage: { type: number, column: salary }'],
      ['drs: 1', 'drs: 1\ndatabase: postgres'],
    );
    const before = place.text('model.yaml');
    await imported(place, 'Shop');
    expect(place.text('model.yaml')).toBe(before);
    change(
      place,
      catalogOf(
        keyed('Company', [
          field('name', 10, 'limiting_length="40" unique="true"'),
          field('city', 10, 'unique="true"'),
          field('zip', 10),
        ]),
        keyed('Person', [
          field('company_id', 10),
          field('salary', 6, 'unique="true"'),
          field('boss', 10),
        ]),
        keyed('Country', [field('person', 10)]),
        link,
        relation(['boss_', 'reports'], ['F-boss', '', ''], ['K-Person', '', '']),
        relation(['person_', 'countries'], ['F-person', '', ''], ['K-Person', '', '']),
      ),
    );
    const result = await imported(place, 'Shop');
    const text = place.text('model.yaml');
    expect(text).toContain('# Who we sell to\n');
    expect(text).toContain('# not for clients\n');
    expect(result.model).toMatchObject({ database: 'postgres' });
    expect(Object.keys(result.model.dataclasses)).toEqual(['Company', 'Employee', 'Country']);
    expect(result.model.dataclasses['Company']).toMatchObject({ description: 'Ours' });
    expect(attributesOf(result, 'Company')).toEqual({
      ID: { type: 'uuid', key: true, generated: 'uuid' },
      name: { type: 'string', unique: true, maxLength: 40 },
      city: { type: 'string', exposed: false, unique: true },
      zip: 'string',
      staff: { to: 'Employee', many: true, inverse: 'company' },
    });
    expect(attributesOf(result, 'Employee')).toEqual({
      ID: { type: 'uuid', key: true, generated: 'uuid' },
      company_id: 'uuid',
      wage: { type: 'number', column: 'salary', unique: true },
      boss: 'uuid',
      company: { to: 'Company', foreignKey: 'company_id', inverse: 'staff', onDelete: 'none' },
      boss_: { to: 'Employee', foreignKey: 'boss', inverse: 'reports', onDelete: 'none' },
      reports: { to: 'Employee', many: true, inverse: 'boss_' },
      countries: { to: 'Country', many: true, inverse: 'person_' },
    });
    expect(attributesOf(result, 'Country')).toMatchObject({
      person_: { to: 'Employee', foreignKey: 'person', inverse: 'countries' },
    });
    // A third one has nothing left to do.
    await imported(place, 'Shop');
    expect(place.text('model.yaml')).toBe(text);
  });

  it('follows names of the source, and reports what both sides have changed', async () => {
    const place = placeOf(first);
    await imported(place, 'Shop');
    edit(place, ['maxLength: 20', 'maxLength: 10']);
    const renamed = field('name', 10, 'limiting_length="30"');
    change(
      place,
      catalogOf(
        keyed('Firm', [renamed, field('city', 10)])
          .replaceAll('K-Firm', 'K-Company')
          .replace('T-Firm', 'T-Company'),
        keyed('Person', personFields),
        link.replace('name_Nto1="company"', 'name_Nto1="firm"'),
      ),
    );
    const result = await imported(place, 'Shop');
    expect(attributesOf(result, 'Firm')).toMatchObject({
      name: { type: 'string', maxLength: 10 },
      staff: { to: 'Person', many: true, inverse: 'firm' },
    });
    expect(attributesOf(result, 'Person')).toMatchObject({
      firm: { to: 'Firm', foreignKey: 'company_id', inverse: 'staff' },
    });
    expect(result.told('kept')).toEqual([expect.stringContaining('maxLength: 30')]);
  });

  it('does not bring back what the user has taken out', async () => {
    const place = placeOf(first);
    await imported(place, 'Shop');
    edit(place, ['      city: string\n', ''], ['      salary: number\n', '']);
    await imported(place, 'Shop');
    const result = await imported(place, 'Shop');
    expect(Object.keys(attributesOf(result, 'Company'))).toEqual(['ID', 'name', 'staff']);
    expect(Object.keys(attributesOf(result, 'Person'))).not.toContain('salary');
  });

  it('removes what the source has removed, unless the user has edited it', async () => {
    const place = placeOf(first);
    await imported(place, 'Shop');
    edit(place, ['city: string', 'city: { type: string, description: Ours }']);
    change(place, catalogOf(keyed('Company', [companyFields[0] ?? '']), keyed('Person', [])));
    const result = await imported(place, 'Shop');
    expect(result.model.dataclasses).toEqual({
      Company: {
        attributes: {
          ID: { type: 'uuid', key: true, generated: 'uuid' },
          name: { type: 'string', maxLength: 20 },
          city: { type: 'string', description: 'Ours' },
        },
      },
      Person: { attributes: { ID: { type: 'uuid', key: true, generated: 'uuid' } } },
    });
    expect(result.told('kept')).toEqual([expect.stringContaining('Company.city')]);
  });

  it('is refused with exit code 3 where it cannot know what to do', async () => {
    const place = placeOf(first);
    place.put('model.yaml', 'drs: 1\n');
    const foreign = await place.import('Shop');
    expect([foreign.code, foreign.err]).toEqual([3, expect.stringContaining('model.yaml')]);
    expect((await place.import('Shop', '--force')).code).toBe(0);
    const lock = place.text('.drs-gen/import.lock.json');
    place.put('.drs-gen/import.lock.json', '{}');
    expect((await place.import('Shop')).code).toBe(3);
    place.put('.drs-gen/import.lock.json', lock.replace('"4d"', '"sqlite"'));
    expect((await place.import('Shop')).code).toBe(3);
    place.put('.drs-gen/import.lock.json', lock);
    const model = place.text('model.yaml');
    place.put('model.yaml', `${model}\n  - [`);
    expect((await place.import('Shop')).code).toBe(3);
    place.put('model.yaml', model.replace('inverse: company }', 'inverse: nothing }'));
    const broken = await place.import('Shop');
    expect([broken.code, broken.err]).toEqual([
      3,
      expect.stringContaining('relation/inverse-unknown'),
    ]);
  });

  it('keeps roles and class files that the user has edited', async () => {
    const place = placeOf(first);
    const roles = 'Shop/Project/Sources/roles.json';
    place.put(roles, JSON.stringify({ privileges: [{ privilege: 'a' }] }));
    place.put(
      'Shop/Project/Sources/Classes/Person.4dm',
      'Class extends DataClass\nexposed Function f()\n',
    );
    await imported(place, 'Shop');
    place.put('classes/Person.ts', '// mine\n');
    place.put(roles, JSON.stringify({ privileges: [{ privilege: 'b' }] }));
    await imported(place, 'Shop');
    expect(place.text('roles.json')).toContain('"b"');
    place.put('roles.json', place.text('roles.json').replace('"b"', '"mine"'));
    place.put(roles, JSON.stringify({ privileges: [{ privilege: 'c' }] }));
    const result = await imported(place, 'Shop');
    expect(place.text('roles.json')).toContain('"mine"');
    expect(place.text('classes/Person.ts')).toBe('// mine\n');
    expect(result.told('kept')).toEqual([expect.stringContaining('roles.json')]);
  });

  it('writes nothing with --dry-run', async () => {
    const place = placeOf(first);
    const { code, err } = await place.import('Shop', '--dry-run');
    expect([code, err]).toEqual([0, expect.stringContaining('nothing was written')]);
    expect(place.files()).toEqual(['Shop/Project/Sources/catalog.4DCatalog']);
  });
});

describe('A name that the source has changed', () => {
  const team = (...fields: readonly string[]): string => catalogOf(keyed('Team', fields));
  const known = (uuid: string, name: string, type = 10): string =>
    field(name, type).replace(`F-${name}`, `F-${uuid}`);
  const reimported = async (place: Workplace, catalog: string): Promise<string> => {
    change(place, catalog);
    const result = await imported(place, 'Shop');
    return JSON.stringify(attributesOf(result, 'Team'));
  };

  it('keeps the values of a field and of its table', async () => {
    const place = placeOf(team(known('m', 'manager'), field('city', 10)));
    await imported(place, 'Shop');
    const changed = team(known('m', 'manager_ID'), field('city', 10))
      .replaceAll('name="Team"', 'name="Crew"')
      .replace('T-Crew', 'T-Team');
    change(place, changed);
    const result = await imported(place, 'Shop');
    expect(result.model.dataclasses['Crew']).toMatchObject({
      renamedFrom: 'Team',
      attributes: { manager_ID: { type: 'string', renamedFrom: 'manager' }, city: 'string' },
    });
    expect(place.text('import-report.md')).toContain(
      'Team is called Crew now: its rows stay in the table Team.',
    );
    expect(place.text('import-report.md')).toContain(
      'Team.manager is called Crew.manager\\_ID now: its values stay in the column manager.',
    );
  });

  it('is no edit of the user: what the source removes later is removed', async () => {
    const place = placeOf(team(known('m', 'manager'), known('c', 'city'), known('z', 'zip')));
    await imported(place, 'Shop');
    await reimported(place, team(known('m', 'manager_ID'), known('c', 'town'), known('z', 'code')));
    edit(place, ['town: { type: string', 'town: { description: Ours, type: string']);
    const result = await reimported(place, team(known('m', 'manager_ID')));
    expect(JSON.parse(result)).toEqual({
      ID: { type: 'uuid', key: true, generated: 'uuid' },
      manager_ID: { type: 'string', renamedFrom: 'manager' },
      town: { type: 'string', description: 'Ours', renamedFrom: 'city' },
    });
  });

  it('of a table and its fields is no edit of the user: the table is removed with them', async () => {
    const place = placeOf(team(known('m', 'manager'), known('c', 'city')));
    await imported(place, 'Shop');
    await reimported(place, team(known('m', 'manager'), known('c', 'town')));
    const renamed = team(known('m', 'city'), known('c', 'town')).replaceAll('"Team"', '"Crew"');
    change(place, renamed);
    const crew = attributesOf(await imported(place, 'Shop'), 'Crew');
    expect(crew).toMatchObject({ city: { renamedFrom: 'manager' } });
    change(place, catalogOf(keyed('Other', [])));
    expect(Object.keys((await imported(place, 'Shop')).model.dataclasses)).toEqual(['Other']);
  });

  it('keeps the values where the type has changed, too, and reports the loss first', async () => {
    const place = placeOf(team(known('m', 'isOpen'), field('city', 10)));
    await imported(place, 'Shop');
    const now = await reimported(place, team(known('m', 'open', 1), field('town', 10)));
    expect(now).toContain('"open":{"type":"boolean","renamedFrom":"isOpen"}');
    const [, chapter = ''] = place
      .text('import-report.md')
      .split('## What the changes mean for stored rows');
    expect(chapter.trim()).toMatch(/^- lost: `dataclasses\.Team\.attributes\.open\.type`: /);
  });

  it('can be one that it had before, again and again', async () => {
    const [a, b] = [team(known('m', 'manager')), team(known('m', 'boss'))];
    const place = placeOf(a);
    await imported(place, 'Shop');
    expect(await reimported(place, b)).toContain(
      '"boss":{"type":"string","renamedFrom":"manager"}',
    );
    expect(await reimported(place, a)).toContain('"renamedFrom":["manager","boss"]');
    expect(await reimported(place, b)).toContain(
      '"boss":{"type":"string","renamedFrom":"manager"}',
    );
    edit(place, ['renamedFrom: manager', 'renamedFrom: [lead, manager]']);
    expect(await reimported(place, a)).toContain('"renamedFrom":["lead","boss"]');
  });

  it('is kept from a new relation of that name', async () => {
    const place = placeOf(team(known('m', 'manager')));
    await imported(place, 'Shop');
    const to = relation(['manager', 'teams'], ['F-m', '', ''], ['K-Person', '', '']);
    change(place, catalogOf(keyed('Team', [known('m', 'manager_ID')]), keyed('Person', []), to));
    const result = await imported(place, 'Shop');
    expect(attributesOf(result, 'Team')).toMatchObject({
      manager_ID: { renamedFrom: 'manager' },
      manager_: { to: 'Person', foreignKey: 'manager_ID' },
    });
  });

  it('of a field that the user has renamed from it may be given to a relation', async () => {
    const place = placeOf(catalogOf(keyed('Team', [known('m', 'manager')]), keyed('Person', [])));
    await imported(place, 'Shop');
    edit(place, ['manager: string', 'lead: { type: string, renamedFrom: manager }']);
    const to = relation(['manager', 'teams'], ['F-m', '', ''], ['K-Person', '', '']);
    change(place, catalogOf(keyed('Team', [known('m', 'manager_')]), keyed('Person', []), to));
    const result = await imported(place, 'Shop');
    expect(attributesOf(result, 'Team')).toMatchObject({
      lead: { column: 'manager' },
      manager: { to: 'Person', foreignKey: 'lead' },
    });
  });
});

import { describe, expect, it } from 'vitest';
import { checkModel } from '../../generator/check/check-model.js';
import type { Model } from '../../generator/model/model.js';

const dataclasses = `
drs: 1
name: clinic
dataclasses:
  Patient:
    attributes:
      ID: { type: integer, key: true }
      name: string
      secret: string
      records: { to: Record, many: true, inverse: patient }
    functions: { entity: { heal: { exposed: true }, hide: { exposed: true } } }
  Record:
    attributes:
      ID: { type: integer, key: true }
      text: string
      patient: { to: Patient, inverse: records }
      patientName: { alias: patient.name }
datastore: { functions: { authentify: { exposed: true }, now: { exposed: true } } }
singletons: { Clock: { functions: { a: { exposed: true }, b: { exposed: true } } } }
`;

function modelWith(roles: string): Model {
  const text = `${dataclasses}roles:\n  ${roles.includes('restrictedByDefault') ? '' : 'restrictedByDefault: false\n  '}privileges: [{ privilege: low }, { privilege: high, includes: [low] }, { privilege: top, includes: [high] }]\n${roles}`;
  const input = { file: 'model.yaml', text, readBeside: () => undefined };
  const { value, problems } = checkModel(input);
  if (value === undefined) throw new Error(JSON.stringify(problems));
  return value;
}

function allowed(...entries: readonly string[]): string {
  return `  permissions:\n    allowed:\n${entries.map((each) => `      - { ${each} }\n`).join('')}`;
}

const patient = 'applyTo: Patient, type: dataclass';

describe('The access of a model', () => {
  it('lists all privileges that allow an action, including those that include them', () => {
    const { dataclasses: found } = modelWith(
      allowed(`${patient}, read: [LOW], create: [high, none]`),
    );
    expect(found[0]?.access).toEqual({
      read: ['high', 'low', 'top'],
      create: ['high', 'top'],
    });
    expect(found[1]?.access).toBeUndefined();
  });

  it('has no entry for what guest allows', () => {
    const [found] = modelWith(allowed(`${patient}, read: [guest, low]`)).dataclasses;
    expect(found?.access).toBeUndefined();
  });

  it('removes update and drop from what nobody may read, and from relations to it', () => {
    const model = modelWith(
      allowed(`${patient}, read: [none]`, 'applyTo: Record, type: dataclass, drop: [low]'),
    );
    const [first, second] = model.dataclasses;
    expect(first?.access).toEqual({ read: [], update: [], drop: [] });
    expect(first?.exposed).toBe(true);
    expect(second?.attributes.map((each) => [each.name, each.exposed])).toEqual([
      ['ID', true],
      ['text', true],
      ['patient', false],
      ['patientName', true],
      ['patient_id', false],
    ]);
  });

  it('hides what nobody may use', () => {
    const model = modelWith(
      allowed(
        'applyTo: Record, type: dataclass, read: [none], create: [none], execute: [none]',
        'applyTo: Patient.secret, type: attribute, read: [none], create: [none]',
        'applyTo: Patient.hide, type: method, execute: [none]',
        'applyTo: Clock.b, type: singletonMethod, execute: [none]',
      ),
    );
    const [first, second] = model.dataclasses;
    expect(second?.exposed).toBe(false);
    expect(first?.attributes.find((each) => each.name === 'secret')?.exposed).toBe(false);
    expect(first?.attributes.find((each) => each.name === 'records')?.exposed).toBe(false);
    expect(first?.functions.entity.map((each) => each.exposed)).toEqual([true, false]);
    expect(model.singletons[0]?.functions.map((each) => each.exposed)).toEqual([true, false]);
  });

  it('denies what no permission names, if that is the default', () => {
    const model = modelWith(`  restrictedByDefault: true\n${allowed(`${patient}, read: [low]`)}`);
    const [first, second] = model.dataclasses;
    expect(first?.access).toMatchObject({ create: [], update: [], drop: [] });
    expect(first?.access?.read).toEqual(['high', 'low', 'top']);
    expect(second?.exposed).toBe(false);
    expect(model.functions.map((each) => each.exposed)).toEqual([false, false]);
  });

  it('lets everybody log in if a login is required', () => {
    const model = modelWith(
      `  forceLogin: true\n${allowed('applyTo: ds, type: datastore, execute: [top]')}`,
    );
    expect(model.functions.map((each) => each.access)).toEqual([undefined, ['top']]);
  });

  it.each([
    [
      'none may call functions',
      `  forceLogin: true\n${allowed('applyTo: ds, type: datastore, execute: [none]')}`,
    ],
    ['nothing is said', '  forceLogin: true\n  restrictedByDefault: true\n'],
  ])('lets everybody log in if a login is required, even if %s', (_name, roles) => {
    const [authentify, now] = modelWith(roles).functions;
    expect([authentify?.exposed, authentify?.access, now?.exposed]).toEqual([
      true,
      undefined,
      false,
    ]);
  });

  it('can be overridden at functions, and includes the privileges that they are promoted with', () => {
    const model = modelWith(
      allowed(
        'applyTo: ds, type: datastore, execute: [top]',
        `${patient}, execute: [high]`,
        'applyTo: Patient.heal, type: method, execute: [low], promote: [high]',
        'applyTo: Clock, type: singleton, execute: [high]',
        'applyTo: Clock.b, type: singletonMethod, execute: [guest]',
      ),
    );
    const [heal, hide] = model.dataclasses[0]?.functions.entity ?? [];
    expect(heal).toMatchObject({ access: ['high', 'low', 'top'], promote: ['high', 'low'] });
    expect(hide?.access).toEqual(['high', 'top']);
    expect(hide?.promote).toBeUndefined();
    expect(model.singletons[0]?.functions.map((each) => each.access)).toEqual([
      ['high', 'top'],
      undefined,
    ]);
  });
});

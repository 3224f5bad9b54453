import { describe, expect, it } from 'vitest';
import { argumentList } from '../../../runtime/http/function-parameters.js';
import { type ArgumentMakers, decodeArguments } from '../../../runtime/class/calls/arguments.js';
import type { FunctionType, ParameterDefinition } from '../../../runtime/protocol/definition.js';
import { type Refusal, refusalOf } from '../refusal.js';

const makers: ArgumentMakers = {
  entity: (dataclass, json) => Promise.resolve({ dataclass, json }),
  selection: (dataclass, json) => Promise.resolve({ selection: dataclass, json }),
  media: (type, json) => Promise.resolve({ media: type, json }),
};

function decode(
  params: readonly ParameterDefinition[],
  sent: readonly unknown[],
): Promise<readonly unknown[]> {
  return decodeArguments({ name: 'hire', params }, sent, makers);
}

function one(type: FunctionType, json: unknown): Promise<unknown> {
  return decode([{ name: 'given', type }], [json]).then(([value]) => value);
}

async function refusal(act: () => unknown): Promise<Refusal> {
  const thrown: unknown = await Promise.resolve()
    .then(act)
    .then(
      () => undefined,
      (error: unknown) => error,
    );
  return refusalOf(() => {
    if (thrown instanceof Error) throw thrown;
  });
}

describe('A value is accepted as its declared type:', () => {
  it.each<[FunctionType, unknown, unknown]>([
    ['string', 'é', 'é'],
    ['string', '', ''],
    ['uuid', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'A0EEBC999C0B4EF8BB6D6BB9BD380A11'],
    ['number', -1.5, -1.5],
    ['integer', 9_007_199_254_740_991, 9_007_199_254_740_991],
    ['duration', 0, 0],
    ['boolean', false, false],
    ['date', '2026-03-09T14:25:36+02:00', new Date('2026-03-09T12:25:36Z')],
    ['dateOnly', '9!3!2026', '2026-03-09'],
    ['object', { a: [1] }, { a: [1] }],
    ['object', [1], [1]],
    ['vector', [1, 2], [1, 2]],
    ['any', null, null],
    ['any', 'x', 'x'],
    [{ list: 'date' }, ['2026-03-09'], [new Date('2026-03-09T00:00:00Z')]],
    [{ list: { list: 'integer' } }, [[1], []], [[1], []]],
    [{ list: 'any' }, [null, 1], [null, 1]],
    ['image', { ID: 'x' }, { media: 'image', json: { ID: 'x' } }],
    [{ entity: 'Employee' }, { a: 1 }, { dataclass: 'Employee', json: { a: 1 } }],
    [{ selection: 'Company' }, { b: 1 }, { selection: 'Company', json: { b: 1 } }],
    [{ list: { entity: 'Employee' } }, [{ a: 1 }], [{ dataclass: 'Employee', json: { a: 1 } }]],
  ])('%j accepts %j', async (type, json, wanted) => {
    const value = await one(type, json);
    expect(type === 'uuid' ? String(value).replaceAll('-', '').toUpperCase() : value).toEqual(
      wanted,
    );
  });

  it.each<[FunctionType, unknown]>([
    ['string', 1],
    ['string', '\ud800'],
    ['uuid', 'x'],
    ['number', '1'],
    ['number', Infinity],
    ['integer', 1.5],
    ['integer', 9_007_199_254_740_992],
    ['duration', true],
    ['boolean', 'true'],
    ['date', '2026-02-30'],
    ['date', 0],
    ['dateOnly', '2026'],
    ['object', 'x'],
    ['object', { a: '\udfff' }],
    ['vector', [1, '2']],
    ['any', ['\ud800']],
    [{ list: 'string' }, 'x'],
    [{ list: 'string' }, { 0: 'x' }],
    [{ list: 'string' }, ['x', 1]],
    [{ list: 'string' }, [null]],
    [{ entity: 'Employee' }, []],
    [{ entity: 'Employee' }, 'x'],
    [{ selection: 'Company' }, 1],
    ['string', null],
    ['blob', 'x'],
  ])('%j refuses %j with 400 and 1843, and names the parameter', async (type, json) => {
    const error = await refusal(() => one(type, json));
    expect(error).toMatchObject({ status: 400, code: 1843 });
    expect(error.message).toMatch(/^The parameter "given(\[\d\])?" of hire .*\.$/u);
  });
});

describe('The number of arguments is checked:', () => {
  const params = [
    { name: 'a', type: 'string' },
    { name: 'b', type: 'string', optional: true },
  ] as const;

  it('an omitted optional one is not passed, and null is passed as undefined', async () => {
    expect(await decode(params, ['x'])).toEqual(['x']);
    expect(await decode(params, ['x', null])).toEqual(['x', undefined]);
  });

  it('a missing mandatory one is refused', async () => {
    expect((await refusal(() => decode(params, []))).message).toBe(
      'The parameter "a" of hire is missing.',
    );
  });

  it('more are refused', async () => {
    expect((await refusal(() => decode(params, ['x', 'y', 'z']))).message).toBe(
      'hire takes 2 at most (a, b), and 3 were sent.',
    );
    expect((await refusal(() => decode([], [1]))).message).toBe(
      'hire takes no parameters, and 1 were sent.',
    );
  });
});

describe('A list of arguments', () => {
  it.each([
    [undefined, []],
    [
      [1, 'a'],
      [1, 'a'],
    ],
    [{ params: [1], other: 2 }, [1]],
  ])('is read from %j', (json, wanted) => {
    expect(argumentList(json)).toEqual(wanted);
  });

  it.each([[1], ['x'], [null], [{}], [{ params: 1 }], [true]])('cannot be %j', async (json) => {
    expect(await refusal(() => argumentList(json))).toMatchObject({ status: 400 });
  });
});

import { describe, expect, it } from 'vitest';
import { linkDataclasses, type Dataclass } from '../../../runtime/dataclass/dataclasses.js';
import { decodeChanges, decodeNewEntity } from '../../../runtime/entity/decode.js';
import { fold } from '../../../runtime/protocol/fold.js';
import { noQueries } from '../../support/no-queries.js';

const dataclass = linkDataclasses([
  {
    name: 'Thing',
    table: 'Thing',
    collectionName: 'Things',
    exposed: true,
    key: 'ID',
    queries: noQueries,
    attributes: [
      { kind: 'storage', name: 'ID', type: 'integer', column: 'ID', key: true },
      { kind: 'storage', name: 'fixed', type: 'string', column: 'fixed', readOnly: true },
      {
        kind: 'storage',
        name: 'hidden',
        type: 'integer',
        column: 'hidden',
        exposed: false,
        min: 0,
      },
    ],
  },
]).get('Thing') as Dataclass;

describe('Class code writes what no client can write', () => {
  it.each(['client', 'code'] as const)('in a new entity: %s', (writer) => {
    const { values, problems } = decodeNewEntity(
      dataclass,
      { ID: 1, fixed: 'x', hidden: 3 },
      { writer },
    );
    const codes = problems.map(({ errCode }) => errCode);
    expect(codes).toEqual(writer === 'code' ? [] : [1569, 1500]);
    if (writer === 'code')
      expect([...values]).toEqual([
        ['ID', 1],
        ['fixed', 'x'],
        ['hidden', 3],
      ]);
  });

  it.each(['client', 'code'] as const)('in a change: %s', (writer) => {
    const body = { fixed: 'x', hidden: 3 };
    const { values, readOnly, problems } = decodeChanges(dataclass, body, 1, fold, { writer });
    const isCode = writer === 'code';
    expect(problems.map(({ errCode }) => errCode)).toEqual(isCode ? [] : [1500]);
    expect([...readOnly]).toEqual(isCode ? [] : [['fixed', 'x']]);
    expect(values.get('fixed')).toBe(isCode ? 'x' : undefined);
  });

  it('but must keep every rule, and the key', () => {
    const { problems } = decodeChanges(dataclass, { ID: 2, hidden: -1 }, 1, fold, {
      writer: 'code',
    });
    expect(problems.map(({ errCode }) => errCode)).toEqual([1569, 1569]);
  });
});

import { describe, expect, it } from 'vitest';
import { linkDataclasses, type Dataclass } from '../../../runtime/dataclass/dataclasses.js';
import { decodeBody, type Decoded, decodeStored } from '../../../runtime/write/decode.js';
import { fold } from '../../../runtime/protocol/fold.js';
import type { StoredValue } from '../../../runtime/protocol/values.js';
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

const values = { fixed: 'x', hidden: 3 };
const own = new Map<string, StoredValue>(Object.entries(values));
const existing = { key: 1, fold };

function codes({ problems }: Decoded): readonly number[] {
  return problems.map(({ errCode }) => errCode);
}

describe('class code writes what no client can', () => {
  it('in a new entity', () => {
    expect(
      codes(decodeBody(dataclass, { ID: 1, ...values }, undefined, new Map()).checked()),
    ).toEqual([1569, 1500]);
    const given = new Map([['ID', 1], ...own]);
    const decoded = decodeStored(dataclass, given, undefined, new Set()).checked();
    expect(codes(decoded)).toEqual([]);
    expect([...decoded.values]).toEqual([...given]);
  });

  it('in a change', () => {
    const sent = decodeBody(dataclass, values, existing, new Map()).checked();
    expect(codes(sent)).toEqual([1500]);
    expect([...sent.readOnly]).toEqual([['fixed', 'x']]);
    expect(sent.values.get('fixed')).toBe(undefined);
    const decoded = decodeStored(dataclass, own, existing, new Set()).checked();
    expect(codes(decoded)).toEqual([]);
    expect([...decoded.readOnly]).toEqual([]);
    expect([...decoded.values]).toEqual([...own]);
  });

  it('but keeps every rule, and the key', () => {
    const given = new Map(Object.entries({ ID: 2, hidden: -1 }));
    const decoded = decodeStored(dataclass, given, existing, new Set()).checked();
    expect(codes(decoded)).toEqual([1569, 1569]);
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Parameters,
  readParameters,
  parameterNames,
} from '../../../runtime/query/parameters.js';
import { isServed, refusalOf } from '../refusal.js';
import { anyCharacter } from '../../support/any-character.js';

/** The result for a request without parameters. */
const none = readParameters({}, 'read');

function read(query: Record<string, unknown>): Parameters {
  return readParameters(query, 'read');
}

describe('readParameters', () => {
  it('returns one frozen object when there is nothing to read', () => {
    expect(Object.values(none).every((value) => value === undefined || value === false)).toBe(true);
    expect(read({})).toBe(none);
    expect(read({})).toBe(readParameters(Object.create(null) as Record<string, unknown>, 'write'));
    expect(Object.isFrozen(read({}))).toBe(true);
  });

  it.each<[Record<string, unknown>, Partial<Parameters>]>([
    [{ $filter: `"name = 'x'"` }, { filter: "name = 'x'" }],
    [{ $filter: 'name = "x"' }, { filter: 'name = "x"' }],
    [{ $filter: `'name = "x"'` }, { filter: 'name = "x"' }],
    [{ $filter: '"city" = "Paris"' }, { filter: 'city" = "Paris' }],
    [{ $filter: "name = O'Reilly" }, { filter: "name = O'Reilly" }],
    [{ $filter: ' "a = 1" ' }, { filter: 'a = 1' }],
    [{ $filter: '' }, { filter: '' }],
    [{ $filter: '""' }, { filter: '' }],
    [{ $FILTER: 'a=1' }, { filter: 'a=1' }],
    [
      { $orderby: '"a DESC"', $expand: "'boss'", $attributes: '"a, b"' },
      { orderby: 'a DESC', expand: 'boss', attributes: 'a, b' },
    ],
    [{ $method: '"update"' }, { method: 'update' }],
    [{ $params: `'["a",1,null,[2]]'` }, { params: ['a', 1, null, [2]] }],
    [{ $params: '[]' }, { params: [] }],
    [{ $params: `'{"a":{"b":1}}'` }, { params: { a: { b: 1 } } }],
    [
      { $top: '10', $skip: '0' },
      { top: 10, skip: 0 },
    ],
    [{ $TOP: '"5"' }, { top: 5 }],
    [{ $limit: '7' }, { top: 7 }],
    [{ $limit: '7', $top: '5' }, { top: 5 }],
    [{ $top: '0', $limit: '7' }, { top: 0 }],
    [{ $top: '9007199254740991' }, { top: Number.MAX_SAFE_INTEGER }],
    [{ $metadata: 'full' }, {}],
    [
      { $imageformat: '".PNG"', $version: '3', $binary: 'TRUE', $rawPict: 'image/png' },
      { imageformat: '.PNG', version: '3', binary: true, rawPict: 'image/png' },
    ],
    [
      { $timeout: '60', $savedfilter: 'a=1' },
      { timeout: 60, savedfilter: 'a=1' },
    ],
    [
      { $timeout: '0', $clean: 'TRUE' },
      { timeout: undefined, clean: true },
    ],
    [{ $format: 'JSON', $atomic: 'false', $atOnce: 'False', $savedfilter: 'false' }, {}],
    [{ $format: '"xml"' }, { format: 'xml' }],
    [{ $format: '' }, { format: '' }],
    [
      { $asarray: 'TRUE', $queryPlan: 'true', $querypath: 'False' },
      { asArray: true, queryplan: true },
    ],
    [
      { $compute: '"$all"', $DISTINCT: 'TRUE' },
      { compute: '$all', distinct: true },
    ],
    [{ $compute: '', $distinct: 'false' }, { compute: '' }],
    [{ $count: 'False' }, { count: false }],
    [{ $count: 'true' }, { count: true }],
    [{ $atomic: 'TRUE' }, { atomic: true }],
    [{ $atonce: '"true"' }, { atomic: true }],
    [{ $atomic: 'false', $atOnce: 'true' }, { atomic: true }],
    [{ $refresh: 'true', $atomic: 'false' }, { refresh: true }],
    [{ other: 'x', filter: 'x', constructor: 'x' }, {}],
  ])('reads %j as %j', (query, want) => {
    expect(read(query)).toEqual({ ...none, ...want });
  });
});

describe('readParameters', () => {
  it.each<[Record<string, unknown>, number, number, string]>([
    [{ $filter: ['a', 'b'] }, 400, 1806, '$filter is given more than once'],
    [{ $top: '1', $TOP: '1' }, 400, 1806, '$top is given more than once'],
    [{ $Filter: '1', $FILTER: '1' }, 400, 1806, '$filter is given more than once'],
    [{ $filter: '"a=1' }, 400, 1809, '$filter lacks its closing double quote'],
    [{ $filter: `"a='x'` }, 400, 1809, 'double quote'],
    [{ $orderby: "'a" }, 400, 1808, '$orderby lacks its closing single quote'],
    [{ $filter: '"' }, 400, 1809, 'double quote'],
    [{ $fliter: 'a=1' }, 400, 1811, 'Unknown parameter $fliter. Did you mean $filter?'],
    [{ $Top2: '1' }, 400, 1811, 'Did you mean $top?'],
    [{ $: '1' }, 400, 1811, 'Unknown parameter $.'],
    [{ $zzzzzz: '1' }, 400, 1811, 'Unknown parameter $zzzzzz.'],
    [{ [`$${'x'.repeat(9000)}`]: '1' }, 400, 1811, '$xxxxxxxxxxxxxxxxxxxxxxx...'],
    [{ $top: '-1' }, 400, 1806, '$top must be a whole number'],
    [{ $top: '' }, 400, 1806, '$top must be'],
    [{ $skip: '1.0' }, 400, 1806, '$skip must be'],
    [{ $skip: '1e3' }, 400, 1806, '$skip must be'],
    [{ $limit: '0x10' }, 400, 1806, '$limit must be'],
    [{ $limit: 'x', $top: '1' }, 400, 1806, '$limit must be'],
    [{ $top: '9007199254740993' }, 400, 1806, '$top must be'],
    [{ $top: '٣' }, 400, 1806, '$top must be'],
    [{ $timeout: 'x' }, 400, 1806, '$timeout must be'],
    [{ $atomic: 'yes' }, 400, 1821, '$atomic must be true or false'],
    [{ $atOnce: '' }, 400, 1821, '$atOnce must be true or false'],
    [{ $refresh: '1' }, 400, 1806, '$refresh must be true or false'],
    [{ $params: '' }, 400, 1280, '$params is not JSON'],
    [{ $params: '[1' }, 400, 1280, '$params is not JSON'],
    [{ $params: '1' }, 400, 1280, '$params must be a JSON list or object'],
    [{ $params: 'null' }, 400, 1280, '$params must be a JSON list or object'],
    [{ $params: `'"a"'` }, 400, 1280, '$params must be a JSON list or object'],
    [{ $asArray: '1' }, 400, 1806, '$asArray must be true or false'],
    [{ $count: '0' }, 400, 1806, '$count must be true or false'],
    [{ $distinct: 'yes' }, 400, 1806, '$distinct must be true or false'],
    [{ $lock: '1' }, 400, 1806, '$lock must be true or false'],
    [{ $binary: '1' }, 400, 1806, '$binary'],
    [{ $upload: 'true' }, 400, 1811, '$upload'],
  ])('refuses %j with %i and %i', (query, status, code, message) => {
    const refusal = refusalOf(() => read(query));
    expect({ status: refusal.status, code: refusal.code }).toEqual({ status, code });
    expect(refusal.message).toContain(message);
    expect(refusal.message.length).toBeLessThan(120);
  });

  it('refuses names without $ where data changes', () => {
    const refusal = refusalOf(() => readParameters({ filter: 'a=1', $method: 'delete' }, 'write'));
    expect(refusal).toEqual({
      status: 400,
      code: 1811,
      message: 'Unknown parameter filter. Did you mean $filter?',
    });
    expect(readParameters({ $method: 'delete', $version: '1' }, 'write').method).toBe('delete');
  });

  it('serves or refuses any query', () => {
    const name = fc.oneof(fc.constantFrom(...parameterNames, '__proto__', 'toString'), fc.string());
    const value = fc.oneof(
      fc.constantFrom('true', 'false', '1', '[]', '"', "'a'"),
      fc.string({ unit: anyCharacter }),
      fc.array(fc.string()),
    );
    fc.assert(
      fc.property(fc.dictionary(name, value), fc.constantFrom('read', 'write'), (query, mode) => {
        expect(isServed(() => readParameters(query, mode))).toBeTypeOf('boolean');
      }),
    );
  });
});

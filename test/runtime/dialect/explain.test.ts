import { describe, expect, it } from 'vitest';
import { tableSearch } from '../../../runtime/dialect/sqlite/reads.js';

describe('A line of a plan of SQLite', () => {
  it.each([
    ['SCAN t1', 't1', [], false],
    ['SCAN t1 USING COVERING INDEX Company_city', 't1', [], false],
    ['SEARCH t1 USING INTEGER PRIMARY KEY (rowid=?)', 't1', [], true],
    ['SEARCH t2 USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN', 't2', [], true],
    ['SEARCH t1 USING PRIMARY KEY (code=?)', 't1', ['code'], false],
    ['SEARCH t1 USING INDEX a (x) b (city=?)', 't1', ['city'], false],
    ['SEARCH t1 USING INDEX i (a=? AND b>? AND b<?)', 't1', ['a', 'b', 'b'], false],
    ['SEARCH t1 USING INDEX i (ANY(a) AND b=?)', 't1', ['b'], false],
    ['SEARCH t3 EXISTS USING INDEX i (employer=?)', 't3', ['employer'], false],
    ['SEARCH t1 USING AUTOMATIC COVERING INDEX (city=?)', 't1', [], false],
    ['SEARCH t1 USING INDEX i (<expr>=?)', 't1', ['<expr>'], false],
  ])('is read: %s', (detail, alias, columns, byKey) => {
    expect(tableSearch(detail)).toEqual({ alias, columns, byKey });
  });

  it.each([
    'MULTI-INDEX OR',
    'INDEX 1',
    'CORRELATED SCALAR SUBQUERY 2',
    'USE TEMP B-TREE FOR ORDER BY',
    '',
  ])('is ignored: %j', (detail) => {
    expect(tableSearch(detail)).toBeUndefined();
  });
});

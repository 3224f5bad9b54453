import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { postgresDialect } from '../../../../runtime/dialect/postgres/dialect.js';
import { expressionFunctions } from '../../../../runtime/dialect/postgres/expression-functions.js';
import { postgresFunctions } from '../../../../runtime/dialect/postgres/functions.js';
import { fold } from '../../../../runtime/protocol/fold.js';

const statements = [...postgresFunctions(), ...expressionFunctions];

function nameOf(statement: string): string {
  return /function (drs_\w+)/.exec(statement)?.[1] ?? '';
}

/** Functions that catch exceptions, and their callers. */
function catching(): ReadonlySet<string> {
  const found = new Set<string>();
  let before = -1;
  while (found.size > before) {
    before = found.size;
    for (const statement of statements) {
      const body = statement.slice(statement.indexOf('returns'));
      const calls = [...body.matchAll(/drs_\w+/g)].map(([name]) => name);
      if (/\bexception when\b/.test(body) || calls.some((name) => found.has(name))) {
        found.add(nameOf(statement));
      }
    }
  }
  return found;
}

describe('The SQL functions on PostgreSQL', () => {
  it('never catch exceptions in a parallel plan, where versions before 17 fail', () => {
    const names = catching();
    expect(names).toContain('drs_x_affinity');
    const unsafe = statements.filter((each) => names.has(nameOf(each)));
    expect(unsafe.filter((each) => each.includes('parallel safe')).map(nameOf)).toEqual([]);
  });

  it('use no syntax that only newer versions have', () => {
    const dialect = postgresDialect(fold);
    const { sql: text } = dialect.compile(dialect.jsonIfJson(sql.ref('extra')));
    expect([text, ...statements].filter((each) => /\bis json\b/i.test(each))).toEqual([]);
  });
});

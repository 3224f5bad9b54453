import { expect, it } from 'vitest';
import { Aliases } from '../../../runtime/dataclass/aliases.js';
import { From } from '../../../runtime/dataclass/source.js';
import type { Dataclass } from '../../../runtime/dataclass/dataclasses.js';
import { postgresDialect } from '../../../runtime/dialect/postgres/dialect.js';
import { fold } from '../../../runtime/protocol/fold.js';

it('A FROM clause with joins names its first row, as PostgreSQL before version 16 requires', () => {
  const from = new From(new Aliases(), { table: 'Employee' } as Dataclass);
  const { sql } = postgresDialect(fold).compile(from.clauseBeside);
  expect(sql).toBe('from (select 1) as "__beside"');
});

import { resolve } from 'node:path';
import { ImportStop } from '../import/messages.js';
import type { SourceKind } from '../import/source-model.js';
import type { RowSource } from './rows.js';

/** Opens the rows of a source, for reading only. */
export async function openRows(kind: SourceKind, source: string, cwd: string): Promise<RowSource> {
  switch (kind) {
    case 'sqlite': {
      const path = source.replace(/^sqlite:(?:\/\/(?=\/))?/i, '');
      return (await import('./sqlite-rows.js')).sqliteRows(resolve(cwd, path), path);
    }
    case 'postgres':
      return (await import('./postgres-rows.js')).postgresRows(source);
    case '4d':
    case 'qodly':
    case 'wakanda':
    case 'server':
      throw new ImportStop('usage', source, 'a project holds no rows; name a database');
  }
}

import type { DataclassReads } from './dataclass-reads.js';
import type { DataclassWrites } from './dataclass-writes.js';

/** What the addresses of a dataclass are answered by. */
export type DataclassHandlers = Pick<
  DataclassReads,
  'readCollection' | 'readEntity' | 'readByValue' | 'readEntitySet'
> &
  Pick<DataclassWrites, 'writeCollection' | 'writeEntity' | 'writeAttributes' | 'writeEntitySet'>;

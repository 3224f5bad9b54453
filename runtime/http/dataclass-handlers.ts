import type { DataclassService } from './dataclass-service.js';

/** What the addresses of a dataclass are answered by. */
export type DataclassHandlers = Pick<
  DataclassService,
  | 'readCollection'
  | 'readEntity'
  | 'readByValue'
  | 'readEntitySet'
  | 'writeCollection'
  | 'writeEntity'
  | 'writeAttributes'
  | 'writeEntitySet'
>;

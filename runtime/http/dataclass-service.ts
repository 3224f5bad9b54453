import { DataclassReads } from './dataclass-reads.js';
import { DataclassWrites } from './dataclass-writes.js';
import type { DataclassHandlers } from './dataclass-handlers.js';
import type { ServiceContext } from './service-context.js';

/** What the addresses of one dataclass are answered by, as Fastify handlers. */
export function dataclassService(context: ServiceContext, name: string): DataclassHandlers {
  const dataclass = context.dataclasses.get(name);
  if (dataclass === undefined) throw new Error(`There is no dataclass ${name}.`);
  const reads = new DataclassReads(context, dataclass);
  const { readCollection, readEntity, readByValue, readEntitySet } = reads;
  const writes = new DataclassWrites(context, dataclass, reads);
  const { writeCollection, writeEntity, writeAttributes, writeEntitySet } = writes;
  return {
    readCollection,
    readEntity,
    readByValue,
    readEntitySet,
    writeCollection,
    writeEntity,
    writeAttributes,
    writeEntitySet,
  };
}

import type { FastifyInstance } from 'fastify';
import type { ClassHost } from '../class/class-host.js';
import { type ClassParts, createClassHost } from '../class/make-class-host.js';
import { DataclassObject } from '../class/dataclass.js';
import { Datastore } from '../class/datastore.js';
import { Entity } from '../class/entity.js';
import type { ClassRegistry, DataclassClasses } from '../class/registry.js';
import { EntitySelection } from '../class/selection.js';
import type { EntityTypes } from '../class/types.js';
import type { DataclassDefinition } from '../protocol/definition.js';

/** Makes the objects of class code. */
export function openHost(app: FastifyInstance, parts: ClassParts): ClassHost {
  const host = createClassHost(parts);
  app.setup.closeAtEnd(() => host.afterCommit.end());
  return host;
}

/** The classes of a model for which nobody writes code: what the emitted types declare is made when it is asked for. */
export function plainClasses(definitions: readonly DataclassDefinition[]): ClassRegistry {
  const classes = (): DataclassClasses => ({
    dataclass: class extends DataclassObject<EntityTypes> {},
    entity: class extends Entity<EntityTypes> {},
    selection: class extends EntitySelection<EntityTypes> {},
  });
  return {
    datastore: class extends Datastore {},
    datastoreFunctions: [],
    dataclasses: Object.fromEntries(definitions.map(({ name }) => [name, classes()])),
    singletons: {},
  };
}

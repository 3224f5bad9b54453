import { RestError } from '../../runtime/protocol/errors.js';
import type { EventError } from '../../runtime/write/lifecycle.js';
import { EventedClient } from './evented-requests.js';
import { type EventedServer, eventedServer, type Row } from './evented-server.js';

function refusing(name: string, error: EventError): (entity: Row) => EventError | undefined {
  return (entity) => (entity['name'] === name ? error : undefined);
}

/** A server with three companies. The name of a company decides what its events do. */
export async function fixedEvents(): Promise<EventedServer> {
  const server = await eventedServer('memory');
  await new EventedClient(server).create(
    'Company',
    ['plain', 'kept', 'held'].map((name) => ({ name })),
  );
  server.handlers.Company = {
    validateSave: (entity) => {
      if (entity['name'] === 'serious') {
        return { errCode: 11, message: 'serious', seriousError: true };
      }
      return refusing('mild', { errCode: 10, message: 'mild' })(entity);
    },
    saving: refusing('unsaved', { errCode: 12, message: 'unsaved' }),
    afterSave: ({ name }) => {
      if (name === 'broken') throw new Error('a secret');
      if (name === 'rest') throw new RestError(418, 15, 'a teapot');
    },
    validateDrop: refusing('kept', { errCode: 13, message: 'kept' }),
    dropping: refusing('held', { errCode: 14, message: 'held' }),
  };
  return server;
}

import { setAskerOf } from '../access/set-asker.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { requirePermission } from '../dataclass/permissions.js';
import type { FunctionDefinition } from '../protocol/definition.js';
import { protocolError, RequestError } from '../protocol/errors.js';
import { decodeKey, readKeyClause } from '../protocol/key.js';
import { type CallHandler, FunctionCalls } from './function-call.js';
import type { FunctionContext, SeenModel } from './function-context.js';
import { inputSelection } from './function-input.js';
import { missingEntity } from './send-answer.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** Makes handlers for the routes of functions; only where the model has class code. */
    readonly functions: FunctionService;
  }
}

/** Makes the handlers of functions (specification, "Class function calls"); the emitted routes name one for each. */
export class FunctionService {
  readonly #calls: FunctionCalls;

  constructor(private readonly context: FunctionContext) {
    this.#calls = new FunctionCalls(context);
  }

  /** `/$catalog/<function>` */
  datastore(name: string): CallHandler {
    const { registry, host } = this.context;
    return this.#calls.handler({
      definition: found(registry.datastoreFunctions, name, 'datastore'),
      shown: `DataStore.${name}`,
      with: (_calling, work) => work(host.datastore),
    });
  }

  /** `/<dataClass>/<function>` of the dataclass's class */
  dataclass(dataclass: string, name: string): CallHandler {
    return this.#calls.handler({
      definition: this.#definition(dataclass, name, 'dataclass'),
      shown: `${dataclass}.${name}`,
      with: (_calling, work) => work(this.context.host.codeOf(dataclass).instance),
    });
  }

  /** `/<dataClass>/<function>` of the selection class, alone, with a filter, or with a set (protocol decision 17) */
  selection(dataclass: string, name: string): CallHandler {
    return this.#calls.handler({
      definition: this.#definition(dataclass, name, 'selection'),
      shown: `${dataclass}Selection.${name}`,
      with: async ({ request, asked, session, own, seen, promoted }, work) => {
        requireRead(promoted, dataclass);
        const input = { ...asked.input, set: request.params.set };
        const asker = setAskerOf(session);
        const { host } = this.context;
        const selection = await host.calls.with(own, () =>
          inputSelection(host.codeOf(dataclass), seen.context, own, input, asker),
        );
        return work(selection);
      },
    });
  }

  /** `/<dataClass>(<key>)/<function>` */
  entity(dataclass: string, name: string): CallHandler {
    return this.#calls.handler({
      definition: this.#definition(dataclass, name, 'entity'),
      shown: `${dataclass}Entity.${name}`,
      with: async ({ request, promoted }, work) => {
        const { text } = readKeyClause(request.params.key ?? '');
        return work(await this.#entity(requireRead(promoted, dataclass), text));
      },
    });
  }

  /** `/$singleton/<SingletonClass>/<function>` */
  singleton(singleton: string, name: string): CallHandler {
    const { registry, singletons } = this.context;
    const known = registry.singletons[singleton];
    if (known === undefined) throw new Error(`There is no singleton ${singleton}.`);
    return this.#calls.handler({
      definition: found(known.functions, name, singleton),
      shown: `${singleton}.${name}`,
      with: ({ session }, work) => singletons.run(singleton, session, work),
    });
  }

  /** Answers a GET of a function that is not declared `onHTTPGet`: 405 with 1829. */
  onlyByPost(name: string): () => never {
    return () => {
      const message = `The function "${name}" is called with POST.`;
      throw new RequestError(405, [protocolError('functionNotByGet', message)], { allow: 'POST' });
    };
  }

  async #entity(dataclass: Dataclass, text: string): Promise<object> {
    const { name, exposed, key } = dataclass;
    const value = exposed ? decodeKey(key.type, text) : undefined;
    const { entities } = this.context.host.codeOf(name);
    const entity = value === undefined ? undefined : await entities.load(value);
    if (entity === undefined) throw missingEntity(name);
    return entity;
  }

  #definition(
    dataclass: string,
    name: string,
    level: FunctionDefinition['level'],
  ): FunctionDefinition {
    const definition = this.context.definitions.find((each) => each.name === dataclass);
    const ofLevel = definition?.functions?.filter((each) => each.level === level) ?? [];
    return found(ofLevel, name, dataclass);
  }
}

/**
 * The dataclass of a function that is called on entities of it.
 * @throws RequestError 401 or 403 when these may not be read
 */
function requireRead({ context }: SeenModel, name: string): Dataclass {
  const dataclass = context.dataclasses.get(name);
  if (dataclass === undefined) throw new Error(`There is no dataclass ${name}.`);
  requirePermission(dataclass, 'read');
  return dataclass;
}

function found(
  functions: readonly FunctionDefinition[],
  name: string,
  owner: string,
): FunctionDefinition {
  const definition = functions.find((each) => each.name === name);
  if (definition === undefined) throw new Error(`${owner} has no exposed function ${name}.`);
  return definition;
}

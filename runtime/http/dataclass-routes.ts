import type { FastifyReply } from 'fastify';
import { AddressTree } from './address-tree.js';
import type { DataclassRequest } from './service-context.js';

/** Answers requests to an address. */
export type RouteHandler = (request: DataclassRequest, reply: FastifyReply) => unknown;

/** What one address of a dataclass leads to. */
export interface Route {
  /** As it is written in the emitted code. */
  readonly address: string;
  readonly handler: RouteHandler;
  /** What a request gives, by the number of the part of its address that holds it. */
  readonly names: readonly (readonly [part: number, name: ParameterName])[];
}

/** What addresses hold that requests give. */
export type ParameterName = keyof DataclassRequest['params'];

type Step = { readonly literal: string } | { readonly name: ParameterName };

const parameterNames: ReadonlySet<string> = new Set<ParameterName>([
  'key',
  'attributes',
  'lookup',
  'set',
]);

/**
 * The addresses of one dataclass, which the emitted code adds. They are written as Fastify's: `:name` between two slashes is
 * what a request gives, `::` is a colon, and `(:key` leaves the closing parenthesis in the key, which may hold one itself.
 */
export class DataclassRoutes {
  readonly #base: string;
  readonly #gets = new AddressTree<Route>();
  readonly #posts = new AddressTree<Route>();
  /** Those of one entity, which are asked for most: they are found without taking the address apart. */
  readonly #ofEntity: { GET?: Route; POST?: Route } = {};

  constructor(dataclass: string) {
    this.#base = `/rest/${dataclass}`;
  }

  /** What answers GET and HEAD. */
  get(address: string, handler: RouteHandler): void {
    const route = this.#add(this.#gets, address, handler);
    if (this.#isOfEntity(address)) this.#ofEntity.GET = route;
  }

  post(address: string, handler: RouteHandler): void {
    const route = this.#add(this.#posts, address, handler);
    if (this.#isOfEntity(address)) this.#ofEntity.POST = route;
  }

  /** @param parts of an address behind the dataclass, as `partsBehind` makes them */
  find(method: 'GET' | 'POST', parts: readonly string[]): Route | undefined {
    return (method === 'GET' ? this.#gets : this.#posts).find(parts);
  }

  /** What answers at `(:key`. */
  findEntity(method: 'GET' | 'POST'): Route | undefined {
    return this.#ofEntity[method];
  }

  #isOfEntity(address: string): boolean {
    return address === `${this.#base}(:key`;
  }

  #add(tree: AddressTree<Route>, address: string, handler: RouteHandler): Route {
    if (!address.startsWith(this.#base)) {
      throw new Error(`${address} is no address of ${this.#base}.`);
    }
    const steps = stepsOf(address.slice(this.#base.length));
    const names = steps.flatMap((step, part) =>
      'name' in step ? [[part, step.name] as const] : [],
    );
    const route = { address, handler, names };
    tree.add(
      steps.map((step) => ('literal' in step ? step.literal : undefined)),
      route,
    );
    return route;
  }
}

/** What stands behind the name of a dataclass: its first part tells whether it is a key, a value or nothing. */
const marks: Readonly<Record<string, string>> = { '(': '(', '::': ':', '': '' };

function stepsOf(suffix: string): readonly Step[] {
  const [first = '', ...rest] = suffix.split('/');
  const [, mark = '', name = ''] = /^(\(|::|)(?::(.+))?$/.exec(first) ?? [undefined, first];
  const known = marks[mark];
  if (known === undefined)
    throw new Error(`Nothing can stand behind a dataclass as ${first} does.`);
  return [
    { literal: known },
    ...(name === '' ? [] : [parameter(name)]),
    ...rest.map((part) => (part.startsWith(':') ? parameter(part.slice(1)) : { literal: part })),
  ];
}

function parameter(name: string): Step {
  if (!isParameterName(name)) throw new Error(`Addresses hold no :${name}.`);
  return { name };
}

function isParameterName(name: string): name is ParameterName {
  return parameterNames.has(name);
}

/** Where the name of a dataclass ends that a path begins with. */
export function endOfName(path: string): number {
  for (let at = 0; at < path.length; at += 1) {
    const code = path.charCodeAt(at);
    if (code === slash || code === parenthesis || code === colon) return at;
  }
  return path.length;
}

const slash = 47;
/** That before a key. */
export const parenthesis = 40;
const colon = 58;

/**
 * The parts of an address behind the name of a dataclass: what stands there (`(`, `:` or nothing), the key or value behind it,
 * and what stands between slashes.
 * @param from where the name ends
 */
export function partsBehind(path: string, from: number): readonly string[] {
  const code = path.charCodeAt(from);
  const first = path.indexOf('/', from);
  const end = first === -1 ? path.length : first;
  const parts =
    code === parenthesis || code === colon ? [path.charAt(from), path.slice(from + 1, end)] : [''];
  for (let at = end; at < path.length;) {
    const next = path.indexOf('/', at + 1);
    const stop = next === -1 ? path.length : next;
    parts.push(path.slice(at + 1, stop));
    at = stop;
  }
  return parts;
}

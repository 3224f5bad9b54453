import type { FastifyInstance } from 'fastify';
import type { AppOptions } from '../../runtime/http/create-server.js';
import { modelFile } from './model-file.js';
import { create, serverOf } from './server.js';

const company = `
import { Readable } from 'node:stream';
import { CompanyBase, OutgoingMessage, RestError, notWritten } from '../generated/api.js';
import type { CompanyEntity, CompanySelection } from '../generated/api.js';

export class Company extends CompanyBase {
  fromCity(city: string): CompanySelection {
    return this.ds.Company.query('city = :1', city);
  }

  draft(name: string): CompanyEntity {
    return this.ds.Company.new({ name, founded: '2020-02-03', revenue: 1.5 });
  }

  counted(...given: readonly [first: string, second?: unknown, third?: string]): unknown {
    return [given.length, ...given];
  }

  echo(value?: unknown): unknown {
    return value;
  }

  since(when: Date, days: readonly Date[]): unknown {
    return { isDate: when instanceof Date, when, year: when.getUTCFullYear(), days: days.length };
  }

  notExposed(): string {
    return 'secret';
  }

  async fails(how: string): Promise<unknown> {
    switch (how) {
      case 'rest':
        throw new RestError(418, 7, 'no coffee here');
      case 'save':
        await this.ds.Company.new({}).save();
        return null;
      case 'query':
        return await this.ds.Company.query('nothing = 1').count();
      case 'status':
        throw Object.assign(new Error('leaked'), { statusCode: 404 });
      case 'text':
        throw 'leaked';
      case 'nothing':
        throw undefined;
      case 'entity':
        return { body: new OutgoingMessage({ body: { of: this.ds.Company.new({ name: 'x' }) } }) }.body;
      case 'handles':
        return { manager: this.ds.Company.new({ name: 'x' }).manager };
      case 'media':
        return [this.ds.Company.new({ name: 'x' }).logo];
      case 'circle': {
        const circle: unknown[] = [];
        circle.push(circle);
        return circle;
      }
      case 'unreadable':
        throw Object.defineProperty(new Error('x'), 'stack', { get() { throw new Error('leaked'); } });
      case 'sync':
        return JSON.parse('{');
      default:
        throw new TypeError('leaked');
    }
  }

  unwritten(): string {
    throw notWritten('Company.unwritten', 'src/classes/Company.ts');
  }

  sends(what: string): OutgoingMessage {
    switch (what) {
      case 'text':
        return new OutgoingMessage({ body: 'é' });
      case 'long text':
        return new OutgoingMessage({ body: 'x'.repeat(40_001) });
      case 'many bytes':
        return new OutgoingMessage({ body: new Uint8Array(40_001) });
      case 'long stream':
        return new OutgoingMessage({ body: Readable.from(['x'.repeat(40_001)]) });
      case 'json':
        return new OutgoingMessage({ status: 201, body: { a: new Date(0) }, headers: { 'X-One': '1' } });
      case 'bytes':
        return new OutgoingMessage({ body: new Uint8Array([1, 2]) });
      case 'stream':
        return new OutgoingMessage({
          body: Readable.from(['a', 'b']),
          headers: { 'content-type': 'text/csv', 'cache-control': 'max-age=5' },
        });
      case 'iterable':
        return new OutgoingMessage({ body: { async *[Symbol.asyncIterator]() { yield 'a'; yield 'b'; } } });
      case 'iterable of objects':
        return new OutgoingMessage({ body: { async *[Symbol.asyncIterator]() { yield { a: 1 }; } } });
      case 'selection':
        return new OutgoingMessage({ body: this.ds.Company.all() });
      case 'session':
        return new OutgoingMessage({ body: this.session });
      case 'pattern':
        return new OutgoingMessage({ body: { found: /x/ } });
      case 'error':
        return new OutgoingMessage({ body: new Error('leaked') });
      case 'objects':
        return new OutgoingMessage({ body: Readable.from(['a', { b: 1 }]) });
      case 'object':
        return new OutgoingMessage({ body: Readable.from([{ b: 1 }]) });
      case 'destroyed':
        return new OutgoingMessage({ body: Readable.from(['a']).destroy() });
      case 'web objects':
        return new OutgoingMessage({
          body: new ReadableStream({ start(items) { items.enqueue({ a: 1 }); items.close(); } }) as never,
        });
      case 'web':
        return new OutgoingMessage({ body: new Blob(['web']).stream() });
      case 'broken':
        return new OutgoingMessage({
          body: new Readable({ read() { this.destroy(new Error('broken')); } }),
        });
      case 'late':
        return new OutgoingMessage({
          body: Readable.from((async function* () {
            yield 'a';
            await new Promise((resolve) => setTimeout(resolve, 20));
            throw new Error('late');
          })()),
        });
      case 'endless':
        return new OutgoingMessage({ body: new Readable({ read() { this.push('x'); } }) });
      case 'empty':
        return new OutgoingMessage({ status: 204, body: 'dropped' });
      case 'header':
        return new OutgoingMessage({ headers: { a: 'x\\r\\nb: y' } });
      default:
        return what as never;
    }
  }

  wrong(): number {
    return 'text' as never;
  }

  async both(list: readonly CompanyEntity[], of: CompanySelection): Promise<unknown> {
    return { list, of, names: (await of.toArray()).map((each) => each.name) };
  }

  forgets(): void {
    void this.ds.Company.new({}).save();
    const unreadable = Object.defineProperty(new Error(), 'stack', { get() { throw new Error(); } });
    for (const thrown of [Object.create(null), unreadable]) void Promise.reject(thrown);
  }

  hangs(): Promise<string> {
    return new Promise(() => undefined);
  }
}
`;

const companyEntity = `
import { CompanyEntityBase } from '../generated/api.js';
import type { EmployeeEntity, Media } from '../generated/api.js';

export class CompanyEntity extends CompanyEntityBase {
  async hire(person: EmployeeEntity): Promise<EmployeeEntity> {
    person.employer.set(this);
    if (person.lastName !== 'Unsaved') await person.save();
    return person;
  }

  label(): string {
    return \`\${this.name} in \${this.city}\`;
  }

  picture(): Media {
    return this.logo;
  }
}
`;

const companySelection = `
import { CompanySelectionBase } from '../generated/api.js';
import type { CompanySelection as Same } from '../generated/api.js';

export class CompanySelection extends CompanySelectionBase {
  async totalRevenue(): Promise<number> {
    return (await this.sum('revenue')) ?? 0;
  }

  async names(): Promise<readonly string[]> {
    return (await this.toArray()).map((each) => each.name);
  }

  itself(): Same {
    return this;
  }
}
`;

const dataStore = `
import { DataStoreBase } from '../generated/api.js';

export class DataStore extends DataStoreBase {
  authentify(user: string, password: string): string {
    if (password === 'right') this.session.setPrivileges({ userName: user, privileges: ['any'] });
    return this.session.userName;
  }

  größe(): Promise<number> {
    return this.Company.all().count();
  }
}
`;

const clock = `
import { ClockBase } from '../generated/api.js';

export class Clock extends ClockBase {
  now(): Date {
    return new Date(0);
  }

  hidden(): string {
    return 'hidden';
  }
}
`;

const counter = `
import { CounterBase } from '../generated/api.js';

export class Counter extends CounterBase {
  #count = 0;

  async next(): Promise<number> {
    const count = this.#count;
    await this.ds.Company.all().count();
    this.#count = count + 1;
    return this.#count;
  }
}
`;

const cart = `
import { CartBase } from '../generated/api.js';

export class Cart extends CartBase {
  private readonly items: string[] = [];

  add(item: string): readonly string[] {
    this.items.push(item);
    return this.items;
  }
}
`;

/** The user's classes for the model `functions`. */
export const writtenClasses: Readonly<Record<string, string>> = {
  'src/classes/Company.ts': company,
  'src/classes/CompanyEntity.ts': companyEntity,
  'src/classes/CompanySelection.ts': companySelection,
  'src/classes/DataStore.ts': dataStore,
  'src/classes/Clock.ts': clock,
  'src/classes/Counter.ts': counter,
  'src/classes/Cart.ts': cart,
};

/** A server with functions of every kind, and four companies. */
export async function functionServer(options: AppOptions = {}): Promise<FastifyInstance> {
  const app = await serverOf(modelFile('functions'), options, writtenClasses);
  await create(app, 'Company', [
    { name: 'Ärger', city: 'Berlin', revenue: 1500.5 },
    { name: 'Bolt', city: 'Paris', revenue: 20 },
    { name: 'Cargo', city: 'paris', revenue: -3 },
    { name: 'Zeta' },
  ]);
  return app;
}

import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { DataStore } from '../../examples/web/client/client.js';
import { describeDatabases } from '../support/databases.js';
import { itOnOne } from '../support/long.js';
import { type StaffClient, staffClient, staffServer } from '../support/staff-example.js';

let client: StaffClient;

beforeAll(async () => {
  client = await staffClient();
});

/** The network between a client and a server. */
class Network {
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;
  isCut = false;

  constructor(public port: number) {
    this.#server = createServer((near) => {
      if (this.isCut) {
        near.destroy();
        return;
      }
      const far = connect(this.port, '127.0.0.1');
      for (const [each, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(each);
        each.on('error', () => undefined);
        each.on('close', () => {
          this.#sockets.delete(each);
          other.destroy();
        });
        each.pipe(other);
      }
    });
  }

  async open(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  cut(): void {
    this.isCut = true;
    for (const each of this.#sockets) each.destroy();
  }

  close(): void {
    this.cut();
    this.#server.close();
  }
}

describeDatabases('A live list of a client', ({ create, driver }) => {
  const onOne = itOnOne({ driver });
  let app: FastifyInstance;
  let drop: () => Promise<void>;
  let databaseUrl: string;
  let network: Network;
  /** Follows, behind a network. */
  let follower: DataStore;
  /** Changes the data. */
  let other: DataStore;
  const live: { stop: () => void }[] = [];

  async function serve(): Promise<string> {
    const served = await staffServer({ databaseUrl }, { driver });
    ({ app } = served);
    return served.url;
  }

  beforeEach(async () => {
    ({ url: databaseUrl, drop } = await create());
    const url = await serve();
    network = new Network(Number(new URL(url).port));
    follower = client.connect(await network.open());
    other = client.connect(url);
    for (const each of [follower, other]) await each.session.login('mia', 'example');
    for (const lastName of ['Curie', 'Adams']) await other.Employee.new({ lastName }).save();
  });
  afterEach(async () => {
    for (const each of live.splice(0)) each.stop();
    network.close();
    await app.close();
    await drop();
  });

  const until = async (holds: () => boolean): Promise<void> => {
    for (let tries = 0; !holds() && tries < 200; tries += 1) await sleep(50);
    expect(holds()).toBe(true);
  };

  it('has what a fresh read has, in its order, after changes and after the network was cut', async () => {
    let changes = 0;
    const selection = follower.Employee.all().orderBy('lastName').select('lastName', 'salary');
    const list = await selection.live({ interval: 100, onChange: () => (changes += 1) });
    live.push(list);
    const names = (): string => list.map(({ lastName }) => lastName).join();
    expect(names()).toBe('Adams,Curie');
    const bohr = other.Employee.new({ lastName: 'Bohr', salary: 1 });
    await bohr.save();
    await until(() => names() === 'Adams,Bohr,Curie');
    expect(changes).toBeGreaterThan(0);
    network.cut();
    bohr.lastName = 'Zuse';
    bohr.salary = 2;
    await bohr.save();
    await other.Employee.query('lastName = Adams').drop();
    await sleep(300);
    expect(names()).toBe('Adams,Bohr,Curie');
    network.isCut = false;
    await until(() => names() === 'Curie,Zuse');
    expect(list.map(({ salary }) => salary)).toEqual([null, 2]);
    list.stop();
    expect(await list.ended).toBeUndefined();
    await other.Employee.new({ lastName: 'Mach' }).save();
    await sleep(300);
    expect(names()).toBe('Curie,Zuse');
  });

  onOne('continues with a server that was started again, and has forgotten its sets', async () => {
    const guestless = follower.Employee.all().orderBy('lastName').select('lastName');
    const list = await guestless.live({ interval: 100 });
    live.push(list);
    network.isCut = true;
    await app.close();
    const url = await serve();
    network.port = Number(new URL(url).port);
    other = client.connect(url);
    await other.session.login('mia', 'example');
    await other.Employee.new({ lastName: 'Bohr' }).save();
    network.isCut = false;
    if (driver === 'sqlite') {
      // Sessions are gone too.
      expect(await list.ended).toMatchObject({ status: 401 });
      return;
    }
    await until(() => list.map(({ lastName }) => lastName).join() === 'Adams,Bohr,Curie');
  });

  onOne('ends with the error when its session ends', async () => {
    const list = await follower.Employee.all().select('lastName').live({ interval: 100 });
    live.push(list);
    await follower.session.logout();
    await other.Employee.new({ lastName: 'Bohr' }).save();
    expect(await list.ended).toMatchObject({ status: 401 });
    expect(list).toHaveLength(2);
  });

  onOne('gives the messages, until the loop ends or its signal aborts', async () => {
    const stop = new AbortController();
    const kinds: string[] = [];
    const follow = async (): Promise<void> => {
      const options = { interval: 100, signal: stop.signal };
      for await (const change of follower.Employee.all().changes(options)) {
        kinds.push(change.kind);
        if (change.kind === 'all') {
          expect(change.entities.map(({ value }) => value?.lastName)).toHaveLength(2);
          await other.Employee.new({ lastName: 'Bohr' }).save();
        } else stop.abort(new Error('enough'));
      }
    };
    await expect(follow()).rejects.toThrow('enough');
    expect(kinds).toEqual(['all', 'difference']);
    await expect(follower.Company.all().changes().next()).rejects.toMatchObject({ status: 404 });
  });
});

import { type Agent, request } from 'node:http';

/** The state that the acts of one client share. */
export interface Soaked {
  readonly port: number;
  readonly agent: Agent;
  /** The session of a user with all privileges. */
  cookie: string | undefined;
  /** Keys of companies that this client has created and may delete. */
  readonly made: number[];
  count: number;
}

interface Asked {
  readonly method?: 'GET' | 'POST';
  readonly body?: string | Buffer;
  readonly cookie?: string | undefined;
  /** The connection is closed after this many bytes of the answer. */
  readonly cutAfter?: number;
}

interface Told {
  readonly status: number;
  readonly text: string;
  readonly cookie: string | undefined;
}

/** One action of a client. */
type Act = (soaked: Soaked) => Promise<unknown>;

function ask(soaked: Soaked, path: string, asked: Asked = {}): Promise<Told> {
  const { method = asked.body === undefined ? 'GET' : 'POST', body, cutAfter } = asked;
  const cookie = 'cookie' in asked ? asked.cookie : soaked.cookie;
  soaked.count += 1;
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let status = 0;
    let set: string | undefined;
    const end = (): void => {
      resolve({ status, text: Buffer.concat(chunks).toString(), cookie: set });
    };
    const sent = request(
      {
        port: soaked.port,
        host: '127.0.0.1',
        path: encodeURI(path),
        method,
        agent: soaked.agent,
        headers: cookie === undefined ? {} : { cookie },
      },
      (answer) => {
        status = answer.statusCode ?? 0;
        set = answer.headers['set-cookie']?.[0]?.split(';')[0];
        answer.on('data', (chunk: Buffer) => {
          chunks.push(chunk);
          if (cutAfter !== undefined) sent.destroy();
        });
        answer.on('close', end);
      },
    );
    sent.on('error', end);
    // Some clients disconnect before the answer.
    if (cutAfter === 0) setTimeout(() => sent.destroy(), Math.random() * 3);
    sent.end(body);
  });
}

/** The part of an answer that later requests use; `undefined` for an error. */
interface Answered {
  readonly ID?: number | string;
  readonly __STAMP?: number;
  readonly __ENTITYSET?: string;
}

function json({ text }: Told): Answered {
  try {
    return JSON.parse(text) as Answered;
  } catch {
    return {};
  }
}

function below(limit: number): number {
  return Math.floor(Math.random() * limit);
}

function word(): string {
  return Math.random().toString(36).slice(2, 9);
}

const attributes = ['name', 'city', 'founded', 'revenue', 'active', 'label', 'ID'];

/** A filter with one to six comparisons, nearly always with a new structure. */
function anyFilter(): string {
  const comparisons = Array.from({ length: 1 + below(6) }, () => {
    const name = attributes[below(attributes.length)] ?? 'ID';
    const isNumber = ['revenue', 'ID'].includes(name);
    const value = isNumber ? String(below(1e6)) : `'${word()}'`;
    const comparator = ['=', '!=', '<', '>='][below(4)] ?? '=';
    if (name === 'active') return `active = ${String(below(2) === 0)}`;
    if (name === 'founded') return `founded ${comparator} '20${10 + below(80)}-01-01'`;
    return `${below(4) === 0 ? 'NOT' : ''}(${name} ${comparator} ${value})`;
  });
  return comparisons.join(below(2) === 0 ? ' AND ' : ' OR ');
}

const makeSet: Act = async (soaked) => {
  const isGuest = below(3) === 0;
  const asked = isGuest ? { cookie: undefined } : {};
  const kept = below(4) === 0 ? '&$savedfilter=true' : '';
  const path = `/rest/Company?$filter=ID > ${below(400)}&$method=entityset${kept}`;
  const made = json(await ask(soaked, path, asked));
  const set = made.__ENTITYSET;
  if (set === undefined) return;
  await ask(soaked, `${set}?$skip=${below(100)}&$top=20`, asked);
  if (below(2) === 0) await ask(soaked, `${set}?$filter=${anyFilter()}`, asked);
  if (below(3) === 0) await ask(soaked, `${set}?$method=release`, asked);
};

const write: Act = async (soaked) => {
  const update = '/rest/Company?$method=update';
  const body = JSON.stringify({
    name: `soak ${word()}${word()}`,
    city: word(),
    extra: { a: word() },
  });
  const made = json(await ask(soaked, update, { body }));
  if (typeof made.ID !== 'number') return;
  soaked.made.push(made.ID);
  const change = { __KEY: made.ID, __STAMP: made.__STAMP, revenue: below(1e6) };
  await ask(soaked, update, { body: JSON.stringify(change) });
  // An outdated stamp.
  if (below(5) === 0) await ask(soaked, update, { body: JSON.stringify(change) });
  while (soaked.made.length > 20) {
    await ask(soaked, `/rest/Company(${soaked.made.shift() ?? 0})?$method=delete`, {
      method: 'POST',
    });
  }
};

/** The password of `mia`, who has all privileges. */
export const password = 'soaked through';

const logIn: Act = async (soaked) => {
  const body = JSON.stringify(['mia', password]);
  const { cookie } = await ask(soaked, '/rest/$directory/login', { body, cookie: undefined });
  // Half of the former sessions are left to expire.
  if (soaked.cookie !== undefined && below(2) === 0) {
    await ask(soaked, '/rest/$directory/logout', { method: 'POST' });
  }
  if (cookie !== undefined) soaked.cookie = cookie;
};

const upload: Act = async (soaked) => {
  const head = Buffer.from('89504e470d0a1a0a0000000d4948445200000001000000010802000000', 'hex');
  const body = Buffer.concat([head, Buffer.alloc(below(200_000), 7)]);
  const sent = await ask(soaked, '/rest/$upload?$rawPict=true', { body });
  const id = json(sent).ID;
  const key = soaked.made[0];
  if (id === undefined || key === undefined || below(2) === 0) return;
  const change = JSON.stringify({ __KEY: key, logo: { ID: id } });
  await ask(soaked, '/rest/Company?$method=update', { body: change });
  await ask(soaked, `/rest/Company(${key})/logo?$imageformat=best&$expand=logo`);
};

const lock: Act = async (soaked) => {
  const key = 1 + below(500);
  // A guest who locks an entity gets a session, which nobody ends.
  const cookie = below(2) === 0 ? undefined : soaked.cookie;
  await ask(soaked, `/rest/Company(${key})?$lock=true`, { cookie });
  if (below(2) === 0) await ask(soaked, `/rest/Company(${key})?$lock=false`, { cookie });
};

const mistakes: Act = async (soaked) => {
  await ask(soaked, `/rest/${word()}`);
  await ask(soaked, `/rest/Company?$filter=${word()} = 1`);
  await ask(soaked, `/rest/Company(${1e9 + below(1e6)})`);
  await ask(soaked, '/rest/Company?$method=update', { body: `{"name": ${word()}` });
  await ask(soaked, '/rest/Employee?$method=update', {
    body: '{"lastName":"x"}',
    cookie: undefined,
  });
  await ask(soaked, `/rest/Company/$entityset/${word().padEnd(32, '0')}`);
  const failed = JSON.stringify([word(), word()]);
  if (below(20) === 0) await ask(soaked, '/rest/$directory/login', { body: failed });
};

const functions: Act = async (soaked) => {
  const cities = encodeURIComponent(JSON.stringify([word()]));
  await ask(soaked, `/rest/Company/fromCity?$params='${cities}'`);
  await ask(soaked, '/rest/Company/totalRevenue');
  await ask(soaked, '/rest/$singleton/Clock/now');
  const person = { lastName: word(), email: `${word()}${word()}@x` };
  await ask(soaked, `/rest/Company(${1 + below(400)})/hire`, { body: JSON.stringify([person]) });
};

const goAway: Act = async (soaked) => {
  await ask(soaked, '/rest/Company?$top=1000', { cutAfter: below(2) });
  await ask(soaked, `/rest/Employee?$filter=fullName = '${word()}'`, { cutAfter: 0 });
  const body = JSON.stringify({ name: `soak ${word()}`.padEnd(100_000) });
  await ask(soaked, '/rest/Company?$method=update', { body, cutAfter: 0 });
};

/** The actions of clients, with their frequencies. */
const acts: readonly (readonly [times: number, act: Act])[] = [
  [30, (soaked) => ask(soaked, `/rest/Company(${1 + below(500)})`)],
  [20, (soaked) => ask(soaked, `/rest/Company?$filter=${anyFilter()}&$top=${1 + below(50)}`)],
  [5, (soaked) => ask(soaked, `/rest/Company?$expand=staff&$top=20&$skip=${below(400)}`)],
  [5, (soaked) => ask(soaked, `/rest/Employee?$filter=fullName begin '${word()}'&$top=20`)],
  [3, (soaked) => ask(soaked, `/rest/Company/revenue?$compute=$all&$filter=ID > ${below(500)}`)],
  [1, (soaked) => ask(soaked, '/rest/$catalog/$all')],
  [1, (soaked) => ask(soaked, '/rest/$info')],
  [15, write],
  [10, makeSet],
  [5, functions],
  [5, mistakes],
  [3, upload],
  [3, lock],
  [3, goAway],
  [0.05, logIn],
];
const times = acts.reduce((sum, [often]) => sum + often, 0);

/** Runs one action after the other until the time is over. */
export async function soak(soaked: Soaked, isOver: () => boolean): Promise<void> {
  await logIn(soaked);
  while (!isOver()) {
    let drawn = Math.random() * times;
    const [, act] = acts.find(([often]) => (drawn -= often) < 0) ?? [0, write];
    await act(soaked);
  }
}

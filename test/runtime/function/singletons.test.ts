import { describe, expect, it } from 'vitest';
import type { Session } from '../../../runtime/access/session.js';
import type { SingletonClass } from '../../../runtime/class/objects/registry.js';
import { Singleton, type SingletonState } from '../../../runtime/class/objects/dataclass.js';
import { Singletons } from '../../../runtime/class/calls/singletons.js';

class Counter extends Singleton<object> {
  static made = 0;
  readonly number = (Counter.made += 1);
}

class Failing {
  static tries = 0;
  readonly isMade = true;
  constructor() {
    Failing.tries += 1;
    if (Failing.tries === 1) throw new Error('not yet');
  }
}

function served(scope: SingletonClass['scope'], singleton: new (state: never) => object = Counter) {
  let end: (session: string) => void = () => undefined;
  let move: (from: string, to: string) => void = () => undefined;
  const state: SingletonState = { datastore: { name: 'ds' }, session: () => session('x') };
  const singletons = new Singletons({ Clock: { singleton, scope, functions: [] } }, state, {
    asServer: (make) => make(),
    inSession: (make) => make(),
    fields: undefined,
    onSessionEnd: (listener) => {
      end = listener;
    },
    onSessionMove: (listener) => {
      move = listener;
    },
  });
  return {
    singletons,
    end: (id: string) => {
      end(id);
    },
    move: (from: string, to: string) => {
      move(from, to);
    },
  };
}

function session(id: string): Session {
  return { keep: () => id } as Session;
}

async function numberOf(singletons: Singletons, id: string): Promise<number> {
  return singletons.run('Clock', session(id), (instance) => (instance as Counter).number);
}

describe('An instance of a singleton', () => {
  it.each(['process', 'shared'] as const)('is the only one of a %s', async (scope) => {
    const { singletons } = served(scope);
    const [a, b] = await Promise.all([numberOf(singletons, 'x'), numberOf(singletons, 'y')]);
    expect(a).toBe(b);
  });

  it('is one for each session, and ends with it', async () => {
    const { singletons, end } = served('session');
    const [x, again, y] = [
      await numberOf(singletons, 'x'),
      await numberOf(singletons, 'x'),
      await numberOf(singletons, 'y'),
    ];
    expect(again).toBe(x);
    expect(y).not.toBe(x);
    end('x');
    expect(await numberOf(singletons, 'x')).not.toBe(x);
    expect(await numberOf(singletons, 'y')).toBe(y);
  });

  it('of a guest stays the same when the guest logs in', async () => {
    const { singletons, end, move } = served('session');
    const number = await numberOf(singletons, 'guest');
    move('guest', 'user');
    end('guest');
    expect(await numberOf(singletons, 'user')).toBe(number);
    expect(await numberOf(singletons, 'guest')).not.toBe(number);
  });

  it('is created by the first call, or by the next one if that failed', async () => {
    const { singletons } = served('process', Failing);
    expect(Failing.tries).toBe(0);
    await expect(singletons.run('Clock', session('x'), () => 1)).rejects.toThrow('not yet');
    expect(await singletons.run('Clock', session('x'), () => 1)).toBe(1);
    await singletons.run('Clock', session('x'), () => 1);
    expect(Failing.tries).toBe(2);
  });

  it('knows the datastore and the session', async () => {
    const { singletons } = served('shared');
    const seen = await singletons.run('Clock', session('x'), (instance) => {
      const counter = instance as Counter;
      return [counter.ds, counter.session.keep()];
    });
    expect(seen).toEqual([{ name: 'ds' }, 'x']);
  });

  it('of an unknown name is an error', async () => {
    const { singletons } = served('shared');
    await expect(singletons.run('toString', session('x'), () => 1)).rejects.toThrow(
      'no singleton toString',
    );
  });
});

describe('Calls', () => {
  async function order(scope: SingletonClass['scope']): Promise<readonly string[]> {
    const { singletons } = served(scope);
    const told: string[] = [];
    const call = (name: string): Promise<void> =>
      singletons.run('Clock', session('x'), async () => {
        told.push(`${name} begins`);
        await new Promise((resolve) => setImmediate(resolve));
        told.push(`${name} ends`);
        if (name === 'a') throw new Error('a fails');
      });
    await Promise.allSettled([call('a'), call('b')]);
    return told;
  }

  it.each(['process', 'session'] as const)(
    'of a %s singleton run one after the other, also after one that fails',
    async (scope) => {
      expect(await order(scope)).toEqual(['a begins', 'a ends', 'b begins', 'b ends']);
    },
  );

  it('of a shared singleton run at the same time', async () => {
    expect(await order('shared')).toEqual(['a begins', 'b begins', 'a ends', 'b ends']);
  });
});

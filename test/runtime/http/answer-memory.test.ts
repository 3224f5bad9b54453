import { type AddressInfo, connect } from 'node:net';
import { markAsUntransferable } from 'node:worker_threads';
import fastify, { type FastifyInstance, type FastifyReply, type onSendHookHandler } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { releaseWhenSent } from '../../../runtime/http/answer-memory.js';

let app: FastifyInstance;
let answers: Uint8Array[];
let answer: (reply: FastifyReply, bytes: Uint8Array) => void;

beforeEach(() => {
  answers = [];
  answer = (reply, bytes) => {
    releaseWhenSent(reply, bytes);
    reply.send(bytes);
  };
  app = fastify();
  app.get<{ Params: { number: string } }>('/:number', ({ params }, reply) => {
    const number = Number(params.number);
    const bytes = bytesOf(number, number === 0 ? 32 * 1024 * 1024 : 20_000);
    answers.push(bytes);
    answer(reply, bytes);
  });
});
afterEach(() => app.close());

async function listen(): Promise<void> {
  await app.listen({ port: 0, host: '127.0.0.1' });
}

function portOf(): number {
  return (app.server.address() as AddressInfo).port;
}

async function ask(number: number): Promise<Buffer> {
  const response = await fetch(`http://127.0.0.1:${portOf()}/${number}`);
  return Buffer.from(await response.arrayBuffer());
}

function bytesOf(number: number, length = 20_000): Uint8Array<ArrayBuffer> {
  return new Uint8Array(length).fill(number);
}

function lengths(): readonly number[] {
  return answers.map(({ length }) => length);
}

const hook: onSendHookHandler = (_request, _reply, payload, done) => {
  done(null, payload);
};

describe('The memory of an answer', () => {
  it('is released with the next answer, and the answer arrives completely', async () => {
    app.addHook('onSend', function drsOwn(_request, _reply, payload, done) {
      done(null, payload);
    });
    await listen();
    for (let number = 1; number <= 20; number += 1) {
      expect((await ask(number)).equals(bytesOf(number))).toBe(true);
    }
    const all = await Promise.all(Array.from({ length: 100 }, (_, number) => ask(number + 1)));
    expect(all.every((each, number) => each.equals(bytesOf(number + 1)))).toBe(true);
    await ask(1);
    expect(lengths().filter((length) => length > 0)).toEqual([20_000]);
  });

  it('is not released if other code may use it, or if it is small', async () => {
    const shared = bytesOf(7, 40_000);
    const few = bytesOf(7, 1_000);
    const foreign = bytesOf(7);
    const chunks = [foreign, shared.subarray(0, 20_000), few];
    let sent = 0;
    answer = (reply) => {
      const chunk = chunks[(sent += 1) % 3] as Uint8Array;
      if (chunk !== foreign) releaseWhenSent(reply, chunk);
      reply.send(chunk);
    };
    await listen();
    for (const number of [1, 1, 1, 1, 1, 1]) await ask(number);
    expect([shared.length, few.length, foreign.length]).toEqual([40_000, 1_000, 20_000]);
  });

  it('is not released if other code has replaced the method that sends it', async () => {
    const seen: Uint8Array[] = [];
    answer = (reply, bytes) => {
      const { raw } = reply;
      const end = raw.end.bind(raw) as (chunk: unknown) => typeof raw;
      raw.end = (chunk: unknown) => {
        seen.push(chunk as Uint8Array);
        return end(chunk);
      };
      releaseWhenSent(reply, bytes);
      reply.send(bytes);
    };
    await listen();
    for (const number of [1, 2, 3]) await ask(number);
    expect(lengths()).toEqual([20_000, 20_000, 20_000]);
    expect(seen.map(({ length }) => length)).toEqual([20_000, 20_000, 20_000]);
  });

  it('is kept until a slow client has read the answer, and when its connection is cut', async () => {
    await listen();
    const ended: Promise<{ readonly received: number; readonly others: number }>[] = [];
    for (const isCut of [false, true]) {
      const slow = connect(portOf(), '127.0.0.1');
      slow.pause();
      slow.write('GET /0 HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
      for (let number = 1; number < 20; number += 1) await ask(number);
      expect(lengths().includes(32 * 1024 * 1024)).toBe(true);
      if (isCut) {
        slow.destroy();
        continue;
      }
      let received = 0;
      let others = 0;
      slow.on('data', (chunk: Buffer) => {
        received += chunk.length;
        for (const byte of chunk.subarray(-1_000)) if (byte !== 0) others += 1;
      });
      slow.resume();
      ended.push(
        new Promise((resolve) => {
          slow.once('close', () => {
            resolve({ received, others });
          });
        }),
      );
      await ended[0];
    }
    const { received, others } = (await ended[0]) ?? { received: 0, others: 0 };
    expect(received).toBeGreaterThan(32 * 1024 * 1024);
    expect(others).toBeLessThan(1_000);
    for (let number = 1; number < 20; number += 1) await ask(number);
    expect(lengths().filter((length) => length > 20_000)).toEqual([32 * 1024 * 1024]);
  });

  it('is not released if it cannot be', async () => {
    answer = (reply, bytes) => {
      if (bytes[0] === 3) markAsUntransferable(bytes.buffer);
      releaseWhenSent(reply, bytes);
      reply.send(bytes);
    };
    await listen();
    for (const number of [1, 2, 3, 4, 5]) {
      expect((await ask(number)).equals(bytesOf(number))).toBe(true);
    }
    // Node 20 ignores such a buffer; later versions throw, and no other buffer is released then.
    expect(lengths().slice(0, 3)).toEqual([0, 0, 20_000]);
  });
});

describe('A hook that sees what is sent keeps the memory of answers', () => {
  it.each<[string, () => unknown]>([
    ['the instance', () => app.addHook('onSend', hook)],
    [
      'a plugin',
      () =>
        app.register((scope, _options, done) => {
          scope.addHook('onSend', hook);
          scope.get('/inside/it', () => 'x');
          done();
        }),
    ],
    ['a route', () => app.post('/route', { onSend: hook }, () => 'x')],
    [
      'a hook of routes, beside an own one',
      () => {
        app.addHook('onSend', function drsOwn(_request, _reply, payload, done) {
          done(null, payload);
        });
        app.addHook('onRoute', (route) => {
          route.onSend = [hook];
        });
        app.get('/later/it', () => 'x');
      },
    ],
  ])('when %s adds it', async (_where, add) => {
    add();
    await listen();
    for (const number of [1, 2, 3, 4]) await ask(number);
    expect(lengths()).toEqual([20_000, 20_000, 20_000, 20_000]);
  });
});

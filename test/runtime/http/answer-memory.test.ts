import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { markAsUntransferable } from 'node:worker_threads';
import fastify, { type FastifyInstance, type onSendHookHandler } from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';
import { HeldAnswers, watchedResponse } from '../../../runtime/http/held-answers.js';
import { isSendHooked, AnswerMemory, markOwnBytes } from '../../../runtime/http/answer-memory.js';
import { itLong } from '../../support/long.js';

let server: Server;

/** @returns a function that requests `/<number>` */
async function serve(
  answer: (response: ServerResponse, number: number) => void,
  isHooked = (): boolean => false,
): Promise<(number: number) => Promise<Buffer>> {
  const memory = new AnswerMemory(isHooked);
  const held = new HeldAnswers(2 ** 30, 60_000, () => undefined);
  server = createServer({ ServerResponse: watchedResponse(held, memory) }, (request, response) => {
    answer(response, Number(request.url?.slice(1)));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return async (number) => {
    const response = await fetch(`http://127.0.0.1:${port}/${number}`);
    return Buffer.from(await response.arrayBuffer());
  };
}

/** Answers with new bytes, and stores references to them. */
function answering(answers: Uint8Array[]): (response: ServerResponse, number: number) => void {
  return (response, number) => {
    const bytes = bytesOf(number);
    answers.push(bytes);
    markOwnBytes(response, bytes);
    response.end(bytes);
  };
}

function bytesOf(number: number, length = 10_000): Uint8Array<ArrayBuffer> {
  return new Uint8Array(length).fill(number);
}

describe('The memory of an answer', () => {
  afterEach(async () => {
    await new Promise((resolve) => server.close(resolve));
  });

  itLong('is released with the next answer, and the answer arrives completely', async () => {
    const answers: Uint8Array[] = [];
    const ask = await serve(answering(answers));
    for (let number = 1; number <= 50; number += 1) {
      expect(await ask(number)).toEqual(Buffer.from(bytesOf(number)));
      expect(answers.map(({ length }) => length)).toEqual([
        ...new Array<number>(number - 1).fill(0),
        10_000,
      ]);
    }
    const all = await Promise.all(Array.from({ length: 100 }, (_, number) => ask(number)));
    expect(all).toEqual(all.map((_, number) => Buffer.from(bytesOf(number))));
  });

  it('is not released if other code may use it, or if it is small', async () => {
    const shared = bytesOf(7, 20_000);
    const few = bytesOf(7, 1_000);
    const foreign = bytesOf(7);
    const ask = await serve((response, number) => {
      const chunk = [shared.subarray(0, 10_000), few, foreign][number] as Uint8Array;
      if (chunk !== foreign) markOwnBytes(response, chunk);
      response.end(chunk);
    });
    for (const number of [0, 1, 2, 0, 1, 2]) await ask(number);
    expect([shared.length, few.length, foreign.length]).toEqual([20_000, 1_000, 10_000]);
  });

  it('is not released if something else was sent instead', async () => {
    const bytes = bytesOf(1);
    const ask = await serve((response) => {
      markOwnBytes(response, bytes);
      response.end(bytesOf(2));
    });
    for (const number of [1, 2, 3]) expect((await ask(number))[0]).toBe(2);
    expect(bytes).toHaveLength(10_000);
  });

  it('is not released if a hook sees what is sent', async () => {
    const seen: Uint8Array[] = [];
    const ask = await serve((response, number) => {
      const bytes = bytesOf(number);
      markOwnBytes(response, bytes);
      const end = response.end.bind(response);
      response.end = (chunk: unknown) => {
        seen.push(chunk as Uint8Array);
        return end(chunk);
      };
      response.end(bytes);
    });
    for (const number of [1, 2, 3]) await ask(number);
    expect(seen.map(({ length }) => length)).toEqual([10_000, 10_000, 10_000]);
  });

  it('is kept until a slow client has read the answer', async () => {
    const large = bytesOf(3, 32 * 1024 * 1024);
    const ask = await serve((response, number) => {
      const bytes = number === 0 ? large : bytesOf(number);
      markOwnBytes(response, bytes);
      response.end(bytes);
    });
    const { port } = server.address() as AddressInfo;
    const slow = connect(port, '127.0.0.1');
    slow.pause();
    slow.write('GET /0 HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
    for (let number = 1; number < 20; number += 1) await ask(number);
    let received = 0;
    let others = 0;
    slow.on('data', (chunk: Buffer) => {
      received += chunk.length;
      for (const byte of chunk.subarray(-1_000)) if (byte !== 3) others += 1;
    });
    slow.resume();
    await new Promise((resolve) => slow.once('close', resolve));
    expect(received).toBeGreaterThan(large.length);
    expect(others).toBeLessThan(1_000);
  });

  it('is not released if it cannot be', async () => {
    const answers: Uint8Array[] = [];
    const ask = await serve((response, number) => {
      const bytes = bytesOf(number);
      if (number === 2) markAsUntransferable(bytes.buffer);
      answers.push(bytes);
      markOwnBytes(response, bytes);
      response.end(bytes);
    });
    for (const number of [1, 2, 3, 4, 5]) {
      expect(await ask(number)).toEqual(Buffer.from(bytesOf(number)));
    }
    // Node 20 ignores such a buffer; later versions throw, and no other buffer is released then.
    expect([answers[0]?.length, answers[1]?.length]).toEqual([0, 10_000]);
  });

  it('is never released if other code sees what is sent', async () => {
    const answers: Uint8Array[] = [];
    const ask = await serve(answering(answers), () => true);
    for (const number of [1, 2, 3, 4]) await ask(number);
    expect(answers.map(({ length }) => length)).toEqual([10_000, 10_000, 10_000, 10_000]);
  });
});

describe('A hook that sees what is sent', () => {
  const hook: onSendHookHandler = (_request, _reply, payload, done) => {
    done(null, payload);
  };

  it.each<[string, (app: FastifyInstance) => unknown]>([
    ['the instance', (app) => app.addHook('onSend', hook)],
    [
      'a plugin',
      (app) =>
        app.register((scope, _options, done) => {
          scope.addHook('onSend', hook);
          scope.get('/inside', () => 'x');
          done();
        }),
    ],
    ['a route', (app) => app.post('/route', { onSend: hook }, () => 'x')],
    [
      'a hook of routes',
      (app) => {
        app.addHook('onRoute', (route) => {
          route.onSend = [hook];
        });
        app.get('/later', () => 'x');
      },
    ],
  ])('is found when %s adds it', async (_where, add) => {
    const app = fastify();
    app.get('/', () => 'x');
    add(app);
    await app.ready();
    expect(isSendHooked(app)).toBe(true);
    await app.close();
  });

  it('is not found if the server has only its own hooks', async () => {
    const app = fastify();
    app.addHook('onSend', function drsCountBytes(_request, _reply, payload, done) {
      done(null, payload);
    });
    app.addHook('onRequest', (_request, _reply, done) => {
      done();
    });
    app.get('/', () => 'x');
    app.post('/', () => 'x');
    await app.ready();
    expect(isSendHooked(app)).toBe(false);
    await app.close();
  });
});

import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { functionServer } from '../../support/function-server.js';

let app: FastifyInstance;
const lines: string[] = [];

beforeAll(async () => {
  const stream = { write: (line: string) => lines.push(line) };
  app = await functionServer({ logger: { level: 'error', stream } });
  await app.listen({ port: 0, host: '127.0.0.1' });
});

afterAll(async () => {
  app.server.closeAllConnections();
  await app.close();
});

async function send(path: string, argument: string): Promise<IncomingMessage> {
  const { port } = app.server.address() as AddressInfo;
  const sent = request({ port, host: '127.0.0.1', path, method: 'POST' });
  sent.end(JSON.stringify([argument]));
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return response;
}

it('A stream that fails within its answer cuts the connection, and is logged', async () => {
  const response = await send('/rest/Company/sends', 'late');
  expect(response.statusCode).toBe(200);
  await expect(
    (async () => {
      for await (const chunk of response) expect(String(chunk)).toBe('a');
    })(),
  ).rejects.toThrow('aborted');
  expect(lines.some((line) => line.includes('Error: late'))).toBe(true);
});

it('A stream of objects cuts the connection at the first one, and the server continues to work', async () => {
  const response = await send('/rest/Company/sends', 'objects');
  await expect(
    (async () => {
      for await (const chunk of response) expect(String(chunk)).toBe('a');
    })(),
  ).rejects.toThrow('aborted');
  expect(lines.some((line) => line.includes('texts or bytes'))).toBe(true);
  const answer = await app.inject({ method: 'POST', url: '/rest/Company/names' });
  expect(answer.statusCode).toBe(200);
});

it('A client that disconnects ends the stream of its answer, which is not logged as an error', async () => {
  const before = lines.length;
  const response = await send('/rest/Company/sends', 'endless');
  await once(response, 'data');
  response.destroy();
  for (let tries = 0; tries < 100; tries += 1) {
    const open = await new Promise<number>((resolve, reject) => {
      app.server.getConnections((error, count) => {
        if (error === null) resolve(count);
        else reject(error);
      });
    });
    if (open === 0) break;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const answer = await app.inject({ method: 'POST', url: '/rest/Company/names' });
  expect(answer.statusCode).toBe(200);
  expect(lines.slice(before)).toEqual([]);
});

it('A client that disconnects before its function ends delays nobody', async () => {
  const { port } = app.server.address() as AddressInfo;
  const sent = request({ port, host: '127.0.0.1', path: '/rest/Company/hangs', method: 'POST' });
  sent.on('error', () => undefined);
  sent.end('[]');
  await new Promise((resolve) => setTimeout(resolve, 50));
  sent.destroy();
  const answer = await app.inject({ method: 'POST', url: '/rest/Company/names' });
  expect(answer.statusCode).toBe(200);
});

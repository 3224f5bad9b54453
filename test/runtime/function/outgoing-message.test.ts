import { describe, expect, it } from 'vitest';
import { OutgoingMessage } from '../../../runtime/class/objects/outgoing-message.js';

describe('A message', () => {
  it('has a status, headers in lower case and a body', () => {
    const message = new OutgoingMessage({
      status: 201,
      headers: { 'X-One': 'a\tb é', 'Set-Cookie': ['a=1', 'b=2'] },
      body: 'text',
    });
    expect(message.status).toBe(201);
    expect([...message.headers]).toEqual([
      ['x-one', 'a\tb é'],
      ['set-cookie', ['a=1', 'b=2']],
    ]);
    expect(new OutgoingMessage()).toMatchObject({ status: 200, body: null });
  });

  it.each([
    ['a line break', { a: 'x\r\nset-cookie: stolen=1' }],
    ['a line feed', { a: ['fine', 'x\ny'] }],
    ['a null character', { a: '\0' }],
    ['what is not Latin-1', { a: '数' }],
    ['a name with a blank', { 'a b': 'x' }],
    ['a name with a colon', { 'a:b': 'x' }],
    ['an empty name', { '': 'x' }],
    ['a number', { a: 1 as unknown as string }],
    ['a length', { 'Content-Length': '3' }],
    ['an encoding of the transfer', { 'transfer-encoding': 'chunked' }],
    ['a connection', { Connection: 'close' }],
  ])('refuses a header with %s', (_name, headers) => {
    expect(() => new OutgoingMessage({ headers })).toThrow(TypeError);
  });

  it.each([0, 100, 199, 600, 200.5, NaN])('refuses the status %d', (status) => {
    expect(() => new OutgoingMessage({ status })).toThrow(TypeError);
  });
});

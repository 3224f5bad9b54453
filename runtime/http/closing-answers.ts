import type { ServerResponse } from 'node:http';
import { http } from './node-http.js';
import { isFollowed } from './waiting-requests.js';

/**
 * Lets every answer that the process begins from now on say `Connection: close`: its client sends nothing more on a connection
 * that is closed behind it. For a process that ends. What changes is what all answers share, since those of requests that run
 * already are listed nowhere, which would cost each request something.
 */
export function announceClosing(): void {
  const answers = http.ServerResponse.prototype;
  const begin = Object.getOwnPropertyDescriptor(answers, 'writeHead')?.value as Begin;
  answers.writeHead = function (this: ServerResponse, ...given: unknown[]) {
    // What is behind it would be done and never answered.
    if (!isFollowed(this)) this.shouldKeepAlive = false;
    return begin.apply(this, given);
  };
}

type Begin = (this: ServerResponse, ...given: unknown[]) => ServerResponse;

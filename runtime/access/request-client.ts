import type { ServerResponse } from 'node:http';
import type { Client } from '../dialect/executor.js';

/** The client of one request; costs next to nothing until somebody asks for its signal. */
export class RequestClient implements Client {
  #controller: AbortController | undefined;

  constructor(private readonly response: ServerResponse) {}

  get hasLeft(): boolean {
    const { closed, writableFinished } = this.response;
    return closed && !writableFinished;
  }

  get signal(): AbortSignal {
    if (this.#controller !== undefined) return this.#controller.signal;
    const controller = new AbortController();
    this.#controller = controller;
    if (this.hasLeft) controller.abort();
    else {
      this.response.once('close', () => {
        if (this.hasLeft) controller.abort();
      });
    }
    return controller.signal;
  }
}

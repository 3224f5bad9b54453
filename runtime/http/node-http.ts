import { createRequire as requireOf } from 'node:module';
import type * as Http from 'node:http';

/**
 * Node's HTTP, asked for by `require`: an `import` of it asks for each of its names at once, and with one of them for the client
 * that is behind `fetch`, which takes time and memory at each start (since Node 22).
 */
export const http = requireOf(import.meta.url)('node:http') as typeof Http;

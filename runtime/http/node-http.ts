import { createRequire as requireOf } from 'node:module';
import type * as Http from 'node:http';

/**
 * Node's HTTP, loaded by `require`: an `import` reads each of its names at once, and one of them
 * loads the client behind `fetch`, which takes time and memory at each start (since Node 22).
 */
export const http = requireOf(import.meta.url)('node:http') as typeof Http;

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fastifyPlugin } from 'fastify-plugin';

/** The files of the explorer, by their addresses. */
const files = [
  { address: '/explorer', name: 'index.html', type: 'text/html; charset=utf-8' },
  {
    address: '/explorer/explorer.js',
    name: 'explorer.js',
    type: 'text/javascript; charset=utf-8',
  },
  { address: '/explorer/explorer.css', name: 'explorer.css', type: 'text/css; charset=utf-8' },
] as const;

/** The page runs the script of this server only, talks to this server only, and stands in no frame. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * Serves the explorer, a page that shows and edits the data by the protocol, as the session of its user may
 * (`explorer.md`). Loaded only where `EXPLORER` is on.
 */
export default fastifyPlugin(
  (app, _options, done) => {
    const { isOpen } = app.setup.settings;
    for (const { address, name, type } of files) {
      const text = readFileSync(new URL(`./explorer/${name}`, import.meta.url), 'utf8');
      const bytes = isOpen ? text.replace('data-logins="on"', 'data-logins="off"') : text;
      const tag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
      app.get(address, (request, reply) => {
        reply
          .header('etag', tag)
          .header('cache-control', 'no-cache')
          .header('content-security-policy', policy)
          .header('referrer-policy', 'no-referrer')
          .header('x-content-type-options', 'nosniff');
        if (request.headers['if-none-match'] === tag) return reply.code(304).send();
        return reply.type(type).send(bytes);
      });
    }
    done();
  },
  { name: 'drs-explorer' },
);

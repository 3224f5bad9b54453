import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { fastifyPlugin } from 'fastify-plugin';

interface File {
  readonly type: 'html' | 'javascript' | 'css';
  readonly text: string;
  readonly tag: string;
}

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
    const { settings, limits } = app.setup;
    const { isOpen, roles } = settings;
    const privilege = roles?.explorer;
    const html = read('index.html').replace('"1000"', `"${limits.maxPageSize}"`);
    const page = file(
      'html',
      isOpen ? html.replace('data-logins="on"', 'data-logins="off"') : html,
    );
    const loginHtml = html.replace('explorer.js', 'login.js');
    const loginPage = file('html', loginHtml);
    const refusedPage = file('html', loginHtml.replace('<div ', '<div data-refused="yes" '));
    const script = file('javascript', read('explorer.js'));
    const style = file('css', read('explorer.css'));
    const refusalOf = (request: FastifyRequest): 401 | 403 | undefined => {
      if (privilege === undefined || request.session.hasPrivilege(privilege)) return undefined;
      return request.session.isGuest ? 401 : 403;
    };
    app.get('/explorer', (request, reply) => {
      const status = refusalOf(request);
      if (status === undefined) return send(request, reply, page);
      return send(request, reply.code(status), status === 401 ? loginPage : refusedPage);
    });
    app.get('/explorer/explorer.js', (request, reply) => {
      const status = refusalOf(request);
      return status === undefined ? send(request, reply, script) : reply.code(status).send();
    });
    if (privilege !== undefined) {
      const loginScript = file('javascript', read('login.js'));
      app.get('/explorer/login.js', (request, reply) => send(request, reply, loginScript));
    }
    app.get('/explorer/explorer.css', (request, reply) => send(request, reply, style));
    done();
  },
  { name: 'drs-explorer' },
);

function read(name: string): string {
  return readFileSync(new URL(`./explorer/${name}`, import.meta.url), 'utf8');
}

function file(type: File['type'], text: string): File {
  const tag = createHash('sha256').update(text).digest('base64url').slice(0, 22);
  return { type, text, tag: `"${tag}"` };
}

function send(
  request: FastifyRequest,
  reply: FastifyReply,
  { type, text, tag }: File,
): FastifyReply {
  reply
    .header('etag', tag)
    .header('cache-control', 'no-cache')
    .header('content-security-policy', policy)
    .header('referrer-policy', 'no-referrer')
    .header('x-content-type-options', 'nosniff');
  const isKnown = reply.statusCode === 200 && request.headers['if-none-match'] === tag;
  return isKnown ? reply.code(304).send() : reply.type(`text/${type}; charset=utf-8`).send(text);
}

import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * `DRSID_<name>` (`access.md#sessions`); the name of a datastore consists of letters, digits, `_`
 * and `-`.
 */
export function cookieName(datastore: string): string {
  return `DRSID_${datastore}`;
}

/**
 * The value of a name in a `Cookie` header: 32 hexadecimal digits, or nothing that could be a
 * session's.
 * @returns the first of several
 */
export function readCookie(header: string, name: string): string | undefined {
  for (let at = header.indexOf(name); at >= 0; at = header.indexOf(name, at + 1)) {
    if (!isStart(header, at)) continue;
    const value = at + name.length + 1;
    if (header.charCodeAt(value - 1) !== 0x3d) continue;
    const end = value + tokenLength;
    if (end === header.length || header.charCodeAt(end) === 0x3b) {
      const plain = header.slice(value, end);
      if (isToken.test(plain)) return plain;
    }
    const [token] = /^"?([0-9A-F]{32})"?[ \t]*(?:;|$)/.exec(header.slice(value, value + 40)) ?? [];
    if (token !== undefined) return token.replace(/[^0-9A-F]/g, '');
  }
  return undefined;
}

const tokenLength = 32;
const isToken = /^[0-9A-F]{32}$/;

/** Cookies follow a semicolon and blanks. */
function isStart(header: string, at: number): boolean {
  let before = at - 1;
  while (before >= 0 && (header[before] === ' ' || header[before] === '\t')) before -= 1;
  return before < 0 || header[before] === ';';
}

/**
 * Puts a session's cookie on an answer, in place of one that it already has (`access.md#sessions`).
 * @param token `undefined` to make the client forget the cookie
 */
export function setCookie(
  request: FastifyRequest,
  reply: FastifyReply,
  name: string,
  token: string | undefined,
): void {
  const others = otherCookies(reply, name);
  const life = token === undefined ? '; Max-Age=0' : '';
  const secure = isSecure(request) ? '; Secure' : '';
  const cookie = `${name}=${token ?? ''}; Path=/; HttpOnly; SameSite=Lax${secure}${life}`;
  reply.removeHeader('set-cookie');
  reply.header('set-cookie', others.length === 0 ? cookie : [...others, cookie]);
}

/** Removes a session's cookie from an answer: the client keeps the one that it has. */
export function withdrawCookie(reply: FastifyReply, name: string): void {
  const others = otherCookies(reply, name);
  reply.removeHeader('set-cookie');
  if (others.length > 0) reply.header('set-cookie', others);
}

function otherCookies(reply: FastifyReply, name: string): string[] {
  const cookies = [reply.getHeader('set-cookie') ?? []].flat().map(String);
  return cookies.filter((cookie) => !cookie.startsWith(`${name}=`));
}

/** A proxy that ends TLS sets this header; a client that pretends to be one only hurts itself. */
function isSecure({ protocol, headers }: FastifyRequest): boolean {
  const forwarded = headers['x-forwarded-proto'];
  const first = (Array.isArray(forwarded) ? forwarded[0] : forwarded)?.split(',')[0];
  return protocol === 'https' || first?.trim().toLowerCase() === 'https';
}

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { hasRates, type Rates } from '../access/rate-windows.js';
import type { QuotaValues } from '../access/quota-values.js';
import type { RequestSession } from '../access/request-session.js';
import { whenThere } from '../dialect/pending.js';
import { protocolError, RequestError } from '../protocol/errors.js';
import type { RequestSessions } from './request-sessions.js';

/** Requests and bytes that are counted together. */
interface Counter {
  readonly quotas: QuotaValues;
  readonly rates: Rates;
}

/**
 * Refuses requests of who has used up a rate: first the session's, then the server's (protocol section 19.3). Bytes are counted
 * when the answer is sent, so that the request that uses them up is the last one that is answered.
 * @param server what the server as a whole may use, and has used
 */
export function registerQuotas(
  app: FastifyInstance,
  sessions: RequestSessions,
  server: Counter,
): void {
  const { clock } = sessions.sessions;
  const shared: readonly Counter[] = hasRates(server.quotas) ? [server] : [];
  const isUnlimited = (): boolean => shared.length === 0 && !sessions.sessions.hasRates;
  const countersOf = (session: RequestSession | undefined): readonly Counter[] => {
    const { quotas, rates } = session?.record ?? {};
    return quotas === undefined || rates === undefined ? shared : [{ quotas, rates }, ...shared];
  };

  app.addHook('onRequest', (request, reply, done) => {
    if (isUnlimited()) {
      done();
      return;
    }
    const checked = whenThere(sessions.of(request, reply), (session) => {
      const counters = countersOf(session);
      const now = clock.now();
      for (const { quotas, rates } of counters) {
        const seconds = rates.exceeded(quotas, now);
        if (seconds !== undefined) {
          done(exceeded(seconds));
          return;
        }
      }
      for (const { quotas, rates } of counters) rates.count(quotas, 'nbRequests', 1, now);
      done();
    });
    if (checked instanceof Promise) checked.catch(done);
  });

  app.addHook('onSend', function drsCountBytes(request, reply, payload, done) {
    const counters = isUnlimited() ? [] : countersOf(sessions.known(request));
    if (counters.length > 0) {
      const now = clock.now();
      const received = bytesOfRequest(request);
      const sent = bytesOf(payload) ?? Number(reply.getHeader('content-length') ?? 0);
      for (const { quotas, rates } of counters) {
        rates.count(quotas, 'inBytes', received, now);
        rates.count(quotas, 'outBytes', sent, now);
      }
    }
    done(null, payload);
  });
}

/** A line of a header has a colon, a blank and its end beside name and value. */
function bytesOfRequest({ raw, headers, body }: FastifyRequest): number {
  let bytes = (raw.url ?? '').length;
  for (const part of raw.rawHeaders) bytes += part.length + 2;
  return bytes + Math.max(bytesOf(body) ?? 0, Number(headers['content-length'] ?? 0) || 0);
}

/** `undefined` for what is sent piece by piece. */
function bytesOf(content: unknown): number | undefined {
  if (content === undefined || content === null) return 0;
  if (typeof content === 'string') return Buffer.byteLength(content);
  return content instanceof Uint8Array ? content.length : undefined;
}

function exceeded(seconds: number): RequestError {
  const message = `A quota of requests or bytes is used up. Try again in ${seconds} s.`;
  return new RequestError(429, [protocolError('quotaExceeded', message)], {
    'retry-after': String(seconds),
  });
}

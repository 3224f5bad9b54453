import type { IncomingHttpHeaders } from 'node:http';
import { refuse } from '../protocol/errors.js';

/**
 * Refuses a request that a browser sends for another site's page: since JSON is read under any content type, no preflight
 * protects it (protocol decisions 3 and 29). A client that is no browser sends neither header.
 * @throws RequestError 403
 */
export function refuseCrossSite(headers: IncomingHttpHeaders): void {
  const site = headers['sec-fetch-site'];
  const { origin } = headers;
  const isForeign =
    site === 'cross-site' ||
    site === 'same-site' ||
    (origin !== undefined && hostOf(origin) !== headers.host?.toLowerCase());
  if (isForeign) throw refuse('crossSite', 'A page of another site may not change data here.');
}

function hostOf(origin: string): string | undefined {
  try {
    return new URL(origin).host;
  } catch {
    return undefined;
  }
}

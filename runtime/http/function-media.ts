import type { FastifyReply } from 'fastify';
import type { Media } from '../class/types.js';
import { contentTypeOf, imageType } from '../protocol/image-types.js';

/** What bytes could do in a browser, they shall not do in the name of this server. */
const harmless = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "sandbox; default-src 'none'",
} as const;

/** Sends an image or BLOB that a function returned, as it is (protocol section 15.5). */
export async function sendMedia(
  reply: FastifyReply,
  media: Uint8Array | Media,
): Promise<FastifyReply> {
  const bytes = media instanceof Uint8Array ? media : await media.read();
  reply.headers(harmless);
  if (bytes === null || bytes.length === 0) return reply.send();
  const type = imageType(bytes);
  reply.header('content-type', contentTypeOf(type));
  // A drawing is a document with scripts.
  if (type === undefined || type === 'svg') reply.header('content-disposition', 'attachment');
  return reply.send(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
}

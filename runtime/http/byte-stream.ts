import { pipeline, type Readable, Transform } from 'node:stream';

/**
 * A stream of anything, as `Readable.from` makes it, as one of bytes: an item that is neither a text nor bytes is an error of
 * the stream. Sent as it is, such an item would end the process: a socket throws where nobody catches.
 */
export function byteStream(source: Readable): Readable {
  if (!source.readableObjectMode) return source;
  const bytes = new Transform({
    writableObjectMode: true,
    transform(item: unknown, _encoding, done) {
      if (typeof item === 'string' || item instanceof Uint8Array) done(null, item);
      else done(new TypeError('A stream of a message yields texts or bytes, and yielded neither.'));
    },
  });
  // An error of either is one of both, and is told by the one that is sent.
  pipeline(source, bytes, () => undefined);
  return bytes;
}

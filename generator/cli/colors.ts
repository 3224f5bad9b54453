import pico from 'picocolors';
import type { Stream } from './world.js';

export type Colors = ReturnType<typeof pico.createColors>;

export const plain: Colors = pico.createColors(false);

/**
 * Colours for a stream. A flag beats NO_COLOR, which beats FORCE_COLOR, which beats the kind of the
 * stream.
 */
export function colorsFor(
  stream: Stream,
  { env, flag }: { env: Readonly<Record<string, string | undefined>>; flag: boolean },
): Colors {
  return pico.createColors(flag && wantsColor(stream, env));
}

function wantsColor(stream: Stream, env: Readonly<Record<string, string | undefined>>): boolean {
  if ((env['NO_COLOR'] ?? '') !== '') return false;
  const forced = env['FORCE_COLOR'];
  if (forced !== undefined) return forced !== '0' && forced !== 'false';
  return stream.isTTY && env['TERM'] !== 'dumb';
}

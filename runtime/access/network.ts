import { isIPv6 } from 'node:net';

/** What an address is counted by: one subscriber has 2^64 addresses of the newer kind. */
export function network(address: string): string {
  if (!isIPv6(address) || address.startsWith('::ffff:')) return address;
  const [head = '', tail = ''] = address.split('::', 2);
  const before = head.split(':');
  const after = tail.split(':');
  const missing = address.includes('::') ? 8 - before.length - after.length : 0;
  return [...before, ...Array<string>(Math.max(0, missing)).fill('0'), ...after]
    .slice(0, 4)
    .join(':');
}

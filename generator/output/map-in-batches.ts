/**
 * Maps a list with a promise for each item, a few at a time: an open file for each could be too
 * many. If one fails, its batch settles before the failure is thrown, so that nothing is written
 * after a clean-up.
 */
export async function mapInBatches<T, R>(
  items: readonly T[],
  map: (item: T, index: number) => Promise<R>,
  size = 32,
): Promise<readonly R[]> {
  const results: R[] = [];
  for (let start = 0; start < items.length; start += size) {
    const batch = items.slice(start, start + size);
    const settled = await Promise.allSettled(batch.map((item, at) => map(item, start + at)));
    for (const result of settled) {
      if (result.status === 'rejected') throw result.reason;
      results.push(result.value);
    }
  }
  return results;
}

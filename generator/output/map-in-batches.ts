/** Maps a list with a promise for each item, a few at a time: an open file for each could be too many. */
export async function mapInBatches<T, R>(
  items: readonly T[],
  map: (item: T) => Promise<R>,
  size = 64,
): Promise<readonly R[]> {
  const results: R[] = [];
  for (let at = 0; at < items.length; at += size) {
    results.push(...(await Promise.all(items.slice(at, at + size).map(map))));
  }
  return results;
}

/** What `$expand` of a relation's own read names beside the relation: `orders,orders.lines` expands `lines` of each order. */
export function beyondRelation(relation: string, expand: string | undefined): string | undefined {
  if (expand === undefined) return undefined;
  const paths = expand
    .split(',')
    .map((path) => path.trim())
    .filter((path) => path !== relation && path !== `${relation}.*`)
    .map((path) => (path.startsWith(`${relation}.`) ? path.slice(relation.length + 1) : path));
  return paths.length === 0 ? undefined : paths.join();
}

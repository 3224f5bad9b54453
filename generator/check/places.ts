import { entriesOf, itemsOf } from '../source/tree.js';
import type { Place, SourceNode } from '../source/tree.js';

/** The place of each key of the model file, by its path. */
export type Places = ReadonlyMap<string, Place>;

export function placesOf(root: SourceNode): Places {
  const places = new Map<string, Place>();
  const add = (node: SourceNode): void => {
    for (const { key, value } of entriesOf(node)) {
      places.set(key.path, key);
      add(value);
    }
    for (const item of itemsOf(node)) add(item);
  };
  add(root);
  return places;
}

/** The place of a path, or of the nearest parent: the part itself may be removed, or left out. */
export function nearestPlace(places: Places, path: string): Place | undefined {
  const found = places.get(path);
  if (found !== undefined) return found;
  const end = path.lastIndexOf('.');
  return end === -1 ? undefined : nearestPlace(places, path.slice(0, end));
}

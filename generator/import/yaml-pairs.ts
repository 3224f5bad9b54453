import type { Pair, YAMLMap } from 'yaml';
import { keyText } from './render.js';

/** The pairs of mappings by their keys: the library looks through all of them, and a model may have many. */
export class Pairs {
  readonly #known = new WeakMap<YAMLMap, Map<string, Pair>>();

  of(map: YAMLMap): Map<string, Pair> {
    let pairs = this.#known.get(map);
    if (pairs === undefined) {
      pairs = new Map(map.items.map((pair) => [keyText(pair.key), pair]));
      this.#known.set(map, pairs);
    }
    return pairs;
  }

  /** @param previous the key behind which the pair stands; else it stands at the end */
  add(map: YAMLMap, pair: Pair, previous: string | undefined): void {
    const pairs = this.of(map);
    const before = previous === undefined ? undefined : pairs.get(previous);
    const at = before === undefined ? -1 : map.items.indexOf(before);
    map.items.splice(at === -1 ? map.items.length : at + 1, 0, pair);
    pairs.set(keyText(pair.key), pair);
  }

  rename(map: YAMLMap, pair: Pair, key: unknown): void {
    const pairs = this.of(map);
    // Another part may have taken the name already.
    if (pairs.get(keyText(pair.key)) === pair) pairs.delete(keyText(pair.key));
    pair.key = key;
    pairs.set(keyText(key), pair);
  }

  delete(map: YAMLMap, key: string): void {
    const pair = this.of(map).get(key);
    if (pair === undefined) return;
    map.items.splice(map.items.indexOf(pair), 1);
    this.of(map).delete(key);
  }
}

import type { SourceNode } from './tree.js';

export type PlainValue =
  string | number | boolean | null | readonly PlainValue[] | { readonly [key: string]: PlainValue };

/** The JSON value of a node. A key such as `__proto__` stays an ordinary key. */
export function plainValue(node: SourceNode): PlainValue {
  switch (node.kind) {
    case 'scalar':
      return node.value;
    case 'list':
      return node.items.map(plainValue);
    case 'mapping': {
      const object = Object.create(null) as Record<string, PlainValue>;
      for (const { key, value } of node.entries.values()) object[key.name] = plainValue(value);
      return object;
    }
  }
}

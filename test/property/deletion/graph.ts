import type { Random } from '../../support/random-model/random.js';

export type KeyType = 'integer' | 'number' | 'uuid' | 'string';
export type Key = string | number;
export type DeleteRule = 'restrict' | 'setNull' | 'cascade' | 'none';

export interface Relation {
  readonly name: string;
  /** Position of the dataclass that it leads to. */
  readonly target: number;
  readonly onDelete: DeleteRule;
  readonly mandatory: boolean;
}

export interface Dataclass {
  readonly name: string;
  readonly keyType: KeyType;
  readonly relations: readonly Relation[];
}

export interface Entity {
  readonly dataclass: number;
  readonly key: Key;
  /** The value that filters select by. */
  readonly tag: number;
  stamp: number;
  timestamp: string;
  /** Keys of the related entities, one for each relation. */
  readonly related: (Key | null)[];
}

/** Dataclasses that refer to each other and to themselves at random, circles included. */
export function randomDataclasses(random: Random): readonly Dataclass[] {
  const count = random.int(1, 5);
  return Array.from({ length: count }, (_, index) => ({
    name: `D${index}`,
    keyType: random.pick<KeyType>(['integer', 'number', 'uuid', 'string']),
    relations: Array.from({ length: random.int(0, 3) }, (_each, position) => {
      const onDelete = random.pick<DeleteRule>([
        'restrict',
        'setNull',
        'cascade',
        'cascade',
        'none',
      ]);
      return {
        name: `r${position}`,
        target: random.int(0, count - 1),
        onDelete,
        mandatory: onDelete !== 'setNull' && random.chance(30),
      };
    }),
  }));
}

export function yamlOf(dataclasses: readonly Dataclass[]): string {
  const blocks = dataclasses.map(({ name, keyType, relations }) => {
    const lines = relations.map(
      (each) =>
        `      ${each.name}: { to: D${each.target}, onDelete: ${each.onDelete}, mandatory: ${each.mandatory} }\n`,
    );
    return `  ${name}:\n    attributes:\n      ID: { type: ${keyType}, key: true }\n      tag: integer\n${lines.join('')}`;
  });
  return `drs: 1\nname: deletion\ndataclasses:\n${blocks.join('')}`;
}

/** Entities of all dataclasses, at least one of each, so that mandatory relations have targets. */
export function randomEntities(random: Random, dataclasses: readonly Dataclass[]): Entity[] {
  const keys = dataclasses.map(({ keyType }) =>
    Array.from({ length: random.int(1, 14) }, (_, index) => keyOf(keyType, index)),
  );
  // Few relations leave something to delete; many make circles.
  const density = random.pick([10, 40, 80]);
  return dataclasses.flatMap(({ relations }, dataclass) =>
    (keys[dataclass] as Key[]).map((key) => ({
      dataclass,
      key,
      tag: random.int(0, 4),
      stamp: random.int(1, 9),
      timestamp: '2026-01-01T00:00:00.000Z',
      related: relations.map(({ target, mandatory }) =>
        mandatory || random.chance(density) ? random.pick(keys[target] as Key[]) : null,
      ),
    })),
  );
}

function keyOf(type: KeyType, index: number): Key {
  switch (type) {
    case 'integer':
      return index * 3 - 5;
    case 'number':
      return index * 1.25 - 2;
    case 'uuid':
      return (index + 0xabcdef).toString(16).toUpperCase().padStart(32, '0');
    case 'string':
      return ['Ärger', 'O’Hara', '007', '7', 'a,b "c"', 'ΣΊΣΥΦΟΣ', '%41'][index] ?? `Key ${index}`;
  }
}

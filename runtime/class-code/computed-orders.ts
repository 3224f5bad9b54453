import { type NameScope, resolvePath } from '../dataclass/attribute-path.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { From } from '../dataclass/source.js';
import type { Dialect } from '../dialect/dialect.js';
import type { Pending } from '../dialect/pending.js';
import type { ComputedDefinition } from '../protocol/definition.js';
import { refuse } from '../protocol/errors.js';
import type { AnswerOptions } from '../query/context.js';
import { maxOrderItems, type OrderItem, parseOrderBy } from '../query/order-by.js';
import { orderTerms } from '../query/order-sql.js';
import { queryContext } from '../query/selection.js';
import { checked, type ComputedAccessors, type Said } from './computed-accessors.js';

/** An item that stands for an attribute which class code computes. */
interface Computed {
  readonly attribute: ComputedDefinition;
  /** That has the attribute. */
  readonly owner: Dataclass;
  readonly relations: readonly string[];
}

/** Accessors that lead to each other, one inside the other. */
const maxDepth = 20;

/** Puts orders of class code in the place of attributes that it computes (protocol section 8). */
export class ComputedOrders {
  constructor(
    private readonly accessors: ComputedAccessors,
    private readonly dialect: Dialect,
    private readonly options: AnswerOptions,
  ) {}

  /**
   * @returns `undefined` where no item is such an attribute
   * @throws RequestError 400 for an order that becomes too long, AccessorFailedError for orders that are wrong
   */
  settle(
    dataclass: Dataclass,
    items: readonly OrderItem[],
    names: NameScope,
  ): Pending<readonly OrderItem[]> | undefined {
    const isAny = items.some((each) => computedOf(dataclass, each, names) !== undefined);
    return isAny ? this.#settled(dataclass, items, names, 0) : undefined;
  }

  async #settled(
    dataclass: Dataclass,
    items: readonly OrderItem[],
    names: NameScope,
    depth: number,
  ): Promise<readonly OrderItem[]> {
    const settled = new Map<string, OrderItem>();
    for (const item of items) {
      const computed = computedOf(dataclass, item, names);
      const own = computed === undefined ? [item] : await this.#ask(computed, item, depth);
      for (const each of own) {
        const name = each.path.join('.');
        if (!settled.has(name)) settled.set(name, each);
      }
      if (settled.size > maxOrderItems) {
        const problem = `an order names at most ${maxOrderItems} attributes`;
        throw refuse('orderBy', `${item.place}: ${problem}, with those of class code.`);
      }
    }
    return [...settled.values()];
  }

  async #ask(
    { attribute, owner, relations }: Computed,
    { descending, place }: OrderItem,
    depth: number,
  ): Promise<readonly OrderItem[]> {
    const direction = descending ? 'desc' : 'asc';
    const said = await this.accessors.orderBy(owner, attribute, { direction });
    const items = checked(said, (text) => {
      if (depth === maxDepth) {
        throw new Error(`orders of class code lead to more than ${maxDepth} others`);
      }
      return parseOrderBy(text);
    });
    const settled = await this.#inside(said, () =>
      this.#settled(owner, items, 'granted', depth + 1),
    );
    checked(said, () => this.#tryOut(owner, settled));
    return settled.map((each) => ({
      path: [...relations, ...each.path],
      descending: each.descending,
      place,
      names: 'granted',
    }));
  }

  async #inside<T>(said: Said<string>, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      return checked(said, () => {
        throw error;
      });
    }
  }

  /** What is wrong with an order of class code is no client's fault. */
  #tryOut(dataclass: Dataclass, items: readonly OrderItem[]): unknown {
    const context = queryContext(this.dialect, this.options);
    return orderTerms(context, new From(context.aliases, dataclass), items, 'granted');
  }
}

/** An order as a text that no order which a client can write has: what decides a statement. */
export function orderName(items: readonly OrderItem[]): string {
  const texts = items.map(
    ({ path, descending, names = 'own' }) =>
      `${names} ${path.join('.')}${descending ? ' desc' : ''}`,
  );
  return `!${texts.join()}`;
}

/** What cannot be ordered by, or does not exist, is refused where the order is written. */
function computedOf(
  dataclass: Dataclass,
  { path, names: own }: OrderItem,
  names: NameScope,
): Computed | undefined {
  const resolved = resolvePath(dataclass, path, own ?? names);
  if ('kind' in resolved || resolved.end.kind !== 'computed') return undefined;
  const { relations, end: attribute, properties } = resolved;
  const isToMany = relations.some(({ kind }) => kind === 'relatedEntities');
  if (isToMany || properties.length > 0) return undefined;
  if (!attribute.accessors.includes('orderBy')) return undefined;
  const owner = relations.reduce((here, relation) => here.target(relation), dataclass);
  return { attribute, owner, relations: path.slice(0, -1) };
}

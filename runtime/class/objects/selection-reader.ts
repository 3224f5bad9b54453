import type { Dialect } from '../../dialect/dialect.js';
import type { JsonAnswer } from '../../dialect/executor.js';
import type { KeyList } from '../../entity-set/key-list.js';
import { readKeys } from '../../entity-set/keys-reader.js';
import { countStatement } from '../../query/counts.js';
import { computeStatement, checkAggregate, readComputed } from '../../query/compute.js';
import { resolvePath } from '../../dataclass/attribute-path.js';
import type { Term } from '../../filter/term.js';
import type { Aggregate } from '../../protocol/aggregate.js';
import { boundGroups } from '../../query/group-request.js';
import { TermReader } from '../../query/group-terms.js';
import type { AnswerOptions } from '../../query/context.js';
import { distinctStatement } from '../../query/distinct.js';
import {
  queryContext,
  type Selection,
  type SelectionStatement,
  selectionStatement,
} from '../../query/selection.js';
import { type BoundSelection, boundStatement, shapeName } from '../../query/selection-request.js';
import { type Aggregation, type ValuePath, valuePath } from '../../query/value-path.js';
import type { DataclassContext, VisibleDataclass, VisibleModel } from './context.js';
import type { GroupOptions } from './selection.js';
import type { SelectionNode } from './selection-node.js';
import { readableNode, resolvedTree, type TreeRequest, treeRequest } from './selection-tree.js';
import { paramsOf } from './selection-values.js';
import type { EntityObject } from './types.js';

/**
 * Reads selections of one dataclass as the calling code sees it: one statement for each read,
 * written once for all selections of one shape.
 */
export class SelectionReader {
  readonly #visible: VisibleDataclass;

  constructor(private readonly code: DataclassContext) {
    this.#visible = code.visible();
  }

  async count(node: SelectionNode): Promise<number> {
    const request = await resolvedTree(this.#model, node);
    const { statement, values } = this.#bound(request, 'code count', (selection) =>
      countStatement(this.#dialect, this.#options, selection),
    );
    return Number(await this.#model.database.executor.value(statement, values));
  }

  /** The entities, in order. */
  async entities(node: SelectionNode): Promise<EntityObject[]> {
    const request = await resolvedTree(this.#model, node);
    const { statement, values } = this.#bound(request, 'code rows', (selection) =>
      this.#rowsStatement(request, selection),
    );
    const entities: EntityObject[] = [];
    for (const row of await this.#model.database.executor.rows(statement, values)) {
      // A stamp is never null: a row without one has no entity.
      if (row[0] !== null) entities.push(this.code.fromRow(row));
    }
    return request.tree.isReversed ? entities.reverse() : entities;
  }

  /** The keys, in order. */
  async keys(node: SelectionNode): Promise<KeyList> {
    const readable = await readableNode(node);
    const keys = await readKeys(this.#model, treeRequest(this.#model, readable));
    if (keys === undefined) throw new Error('A selection has keys, if none.');
    return keys;
  }

  /**
   * @param path as behind a dataclass in the address of `$compute`
   * @throws RequestError for a wrong path
   */
  async compute(node: SelectionNode, path: string, aggregate: Aggregate): Promise<unknown> {
    const value = await this.#values(node, path, '$compute', aggregate, (selection, resolved) => {
      checkAggregate(aggregate, resolved, path);
      return computeStatement(this.#dialect, this.#options, selection, resolved, aggregate, path);
    });
    return this.#typed(path, value);
  }

  /** @throws RequestError for a wrong path */
  async distinct(node: SelectionNode, path: string): Promise<unknown[]> {
    const values = await this.#values(node, path, '$distinct', 'distinct', (selection, resolved) =>
      distinctStatement(this.#dialect, this.#options, selection, resolved, false),
    );
    return (values as readonly unknown[]).map((value) => this.#typed(path, value));
  }

  /**
   * @param keys as in `$groupby`
   * @param terms as in `$compute`
   * @throws RequestError for what cannot be read
   */
  async groups(
    node: SelectionNode,
    keys: readonly string[],
    terms: readonly string[],
    { having, values = [], orderBy, top, skip = 0 }: GroupOptions,
  ): Promise<object[]> {
    const groups = {
      groupby: keys.join(),
      compute: terms.join(),
      having,
      params: paramsOf(values),
      order: { orderBy, orderOrigin: { parameter: '$orderby', start: 0 } },
      skip,
      top: top ?? Number.MAX_SAFE_INTEGER,
      isCounted: false,
      names: 'all',
    } as const;
    const model = { ...this.#model, options: this.#options };
    const request = await resolvedTree(this.#model, node);
    const { statement, values: bound } = boundGroups(model, request, groups);
    const answer = await model.database.executor.read(statement, bound);
    const { __GROUPS: found } = JSON.parse(textOf(answer ?? '')) as Groups;
    const instants = this.#instants(groups);
    return found.map((group) =>
      Object.fromEntries(
        Object.entries(group).map(([name, value]) => [
          name,
          typeof value === 'string' && instants.has(name) ? new Date(value) : value,
        ]),
      ),
    );
  }

  /** The names of those members of groups that are instants. */
  #instants({ groupby, compute }: { groupby: string; compute: string }): ReadonlySet<string> {
    const { dataclass } = this.#visible;
    const reader = new TermReader();
    const terms = [...reader.keys(groupby), ...reader.computed(compute)];
    const isInstantTerm = ({ aggregate, path, part }: Term): boolean => {
      if (path.length === 0 || part !== undefined) return false;
      if (aggregate !== undefined && aggregate !== 'min' && aggregate !== 'max') return false;
      const resolved = resolvePath(dataclass, path, 'all');
      return 'end' in resolved && 'type' in resolved.end && isInstant(resolved.end);
    };
    return new Set(terms.filter(isInstantTerm).map(({ name }) => name));
  }

  get #model(): VisibleModel {
    return this.#visible.model;
  }

  get #dialect(): Dialect {
    return this.#model.database.dialect;
  }

  /** A date without time is YYYY-MM-DD in code, whatever form clients get. */
  get #options(): AnswerOptions {
    return { ...this.#model.options, dateOnlyFormat: 'iso' };
  }

  async #values(
    node: SelectionNode,
    path: string,
    aggregation: Aggregation,
    name: string,
    write: (selection: Selection, path: ValuePath) => SelectionStatement,
  ): Promise<unknown> {
    const shape = shapeName([`code ${name}`, path]);
    const top = Number.MAX_SAFE_INTEGER;
    const bound = this.#bound(
      await resolvedTree(this.#model, node),
      shape,
      (selection) => write(selection, this.#valuePath(path, aggregation)),
      { top },
    );
    const { executor } = this.#model.database;
    const answer = await readComputed((...run) => executor.read(...run), bound);
    return answer === undefined ? null : (JSON.parse(textOf(answer)) as unknown);
  }

  #valuePath(path: string, aggregation: Aggregation): ValuePath {
    return valuePath(this.#visible.dataclass, path, aggregation, 'all');
  }

  /** A JSON value as class code reads it. */
  #typed(path: string, value: unknown): unknown {
    if (typeof value !== 'string') return value;
    const { attribute, steps } = this.#valuePath(path, '$compute');
    return isInstant(attribute) && steps.length === 0 ? new Date(value) : value;
  }

  #rowsStatement({ tree }: TreeRequest, selection: Selection): SelectionStatement {
    const context = queryContext(this.#dialect, this.#options);
    const rows = tree.rows(context, selection, (from) =>
      this.code.layout.columns(this.#dialect, from),
    );
    return selectionStatement(context, rows);
  }

  #bound(
    request: TreeRequest,
    name: string,
    write: (selection: Selection) => SelectionStatement,
    fixed: { readonly top?: number } = {},
  ): BoundSelection {
    return boundStatement(this.#model.statements, request, name, fixed, write);
  }
}

interface Groups {
  readonly __GROUPS: readonly Readonly<Record<string, unknown>>[];
}

function isInstant({ type, dateOnly }: { type: string; dateOnly?: true }): boolean {
  return type === 'date' && dateOnly !== true;
}

function textOf(answer: JsonAnswer): string {
  return typeof answer === 'string' ? answer : Buffer.from(answer).toString();
}

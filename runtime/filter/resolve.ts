import {
  type ColumnDefinition,
  type NameScope,
  type PathProblem,
  type Relation,
  resolvePath,
  type ResolvedPath,
} from '../dataclass/attribute-path.js';
import { type Dataclass, isReadFromTarget } from '../dataclass/dataclasses.js';
import type {
  ComputedDefinition,
  RelatedEntitiesDefinition,
  RelatedEntityDefinition,
} from '../protocol/definition.js';
import { protocolError, RequestError } from '../protocol/errors.js';
import type { Comparator, ComparisonNode, ComputedNode, PathStep } from './ast.js';
import { wrongComparator, written } from './value-condition.js';
import { filterError } from './lexer.js';

/** A relation of a path, and the number that distinguishes related entities (filters F17). */
export interface Hop {
  readonly relation: Relation;
  readonly ordinal: number;
}

/** A step inside an object: to a property, or to the elements of an array, which a letter ties to each other. */
export type Move =
  | { readonly kind: 'property'; readonly name: string }
  | { readonly kind: 'elements'; readonly letter: string };

/** A comparison whose path is being followed. */
export interface PendingComparison {
  readonly node: ComparisonNode;
  /** The result of class code for the comparison, if class code computes the attribute. */
  readonly computed?: ComputedNode;
  /** `===` and `!==` are `=` and `!=` here; `FilterContext.patterns` says which values are patterns. */
  readonly comparator: Comparator;
  /** The relations that remain. */
  readonly hops: readonly Hop[];
  readonly end:
    ColumnDefinition | ComputedDefinition | RelatedEntityDefinition | RelatedEntitiesDefinition;
  /** The number behind a relation at the end of the path. */
  readonly endOrdinal: number;
  /** The steps that remain inside the object at the end of the path. */
  readonly moves: readonly Move[];
}

/** A comparator without what `FilterContext.patterns` says. */
export function plainComparator(comparator: Comparator): Comparator {
  if (comparator === '===') return '=';
  return comparator === '!==' ? '!=' : comparator;
}

/** @throws RequestError 400 with 1500 or 1162 for a path that leads nowhere */
export function resolve(
  dataclass: Dataclass,
  compared: ComparisonNode | ComputedNode,
  scope: NameScope | undefined,
): PendingComparison {
  const node = compared.kind === 'computed' ? compared.comparison : compared;
  const { steps } = node.path;
  const names = steps.map((step) => step.name);
  const resolved = resolvePath(dataclass, names, scope);
  if ('kind' in resolved) throw unresolved(resolved, node);
  const { relations, places, end, properties } = resolved;
  const endAt = steps.length - 1 - properties.length;
  checkMarks(resolved, steps, endAt);
  const endOrdinal = steps[endAt]?.ordinal ?? 1;
  const ended = relatedKey(dataclass, end);
  if (end.kind === 'computed' && compared.kind === 'comparison') throw uncomputed(node, end);
  return {
    node,
    ...(compared.kind === 'computed' ? { computed: compared } : {}),
    comparator: plainComparator(node.comparator),
    // The relations of an alias have the number behind its name.
    hops: [
      ...relations.map((relation, index) => ({
        relation,
        ordinal: (steps[places[index] as number] as PathStep).ordinal,
      })),
      ...ended.hops.map((relation) => ({ relation, ordinal: endOrdinal })),
    ],
    end: ended.end,
    endOrdinal,
    moves: movesOf(steps, endAt),
  };
}

/** A relation is compared by its foreign key, or by its target's key if that is read from the target. */
function relatedKey(
  dataclass: Dataclass,
  end: PendingComparison['end'],
): { readonly hops: readonly RelatedEntityDefinition[]; readonly end: PendingComparison['end'] } {
  if (end.kind !== 'relatedEntity' || !isReadFromTarget(dataclass, end)) {
    return { hops: [], end };
  }
  return { hops: [end], end: dataclass.target(end).key };
}

/** A filter that class code cannot resolve: one of `restrict`. */
function uncomputed(node: ComparisonNode, { accessors }: ComputedDefinition): RequestError {
  if (!accessors.includes('query')) return incomparable(node);
  const problem = `class code computes ${written(node)}, and is not asked about it here`;
  return wrongComparator(node, `${problem}: write what its accessor "query" would give`);
}

/** A comparison with an attribute of class code needs the result of class code. */
export function incomparable(node: ComparisonNode): RequestError {
  const problem = `class code computes ${written(node)}, and has no accessor "query" for it`;
  return wrongComparator(node, `${problem}, so it cannot be compared`);
}

/** @param endAt the position of the attribute that holds the object */
function movesOf(steps: readonly PathStep[], endAt: number): Move[] {
  return steps
    .slice(endAt)
    .flatMap(({ name, element }, index): Move[] => [
      ...(index === 0 ? [] : [{ kind: 'property' as const, name }]),
      ...(element === undefined ? [] : [{ kind: 'elements' as const, letter: element }]),
    ]);
}

/** Numbers belong behind relations, brackets into objects. */
function checkMarks({ end }: ResolvedPath, steps: readonly PathStep[], endAt: number): void {
  const isRelation = end.kind === 'relatedEntity' || end.kind === 'relatedEntities';
  const isObject = !isRelation && end.type === 'object';
  for (const [index, { name, ordinal, element, start }] of steps.entries()) {
    if (ordinal !== 1 && (index > endAt || (index === endAt && !isRelation))) {
      throw filterError(start, `{${ordinal}} can stand behind a relation, and ${name} is none`);
    }
    if (element !== undefined && (index < endAt || !isObject)) {
      const problem = `[${element}] can stand behind an array in an object attribute`;
      throw filterError(start, `${problem}, and ${name} is none`);
    }
    if (index > endAt && name.includes('\0')) {
      throw filterError(start, 'the name of a property cannot hold the character U+0000 here');
    }
  }
}

function unresolved(problem: PathProblem, node: ComparisonNode): RequestError {
  return new RequestError(400, [
    protocolError(
      'attributeNotFound',
      `The "${problem.name}" attribute cannot be found in the "${problem.dataclass}" dataclass`,
    ),
    ...filterError(node.path.start, 'expected the path of an attribute').errors,
  ]);
}

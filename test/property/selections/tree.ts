import fc from 'fast-check';

/** A selection of employees or of companies, as class code would combine it. */
export type Tree =
  | { readonly kind: 'all' }
  | { readonly kind: 'keys'; readonly keys: readonly number[] }
  | { readonly kind: 'filter'; readonly of: Tree; readonly filter: number; readonly value: Value }
  | { readonly kind: 'order'; readonly of: Tree; readonly order: number }
  | { readonly kind: 'slice'; readonly of: Tree; readonly start: number; readonly end?: number }
  | { readonly kind: 'and' | 'or' | 'minus'; readonly left: Tree; readonly right: Tree }
  /** Related entities: of the other dataclass for `staff` and `employer`, of the tree's own for `boss` and `reports`. */
  | { readonly kind: 'related'; readonly of: Tree; readonly relation: Relation };

export type Relation = 'staff' | 'employer' | 'boss' | 'reports';
export type Value = number | string | null;

export const filterCount = 9;
export const orderCount = 5;

const values: fc.Arbitrary<Value> = fc.constantFrom(1, 2, 3, 5, 'bo', 'ANN', 'Paris', null);
const positions = fc.integer({ min: -7, max: 7 });
const keys = fc.array(fc.integer({ min: 0, max: 14 }), { maxLength: 6 });

/** @param dataclass of the selection's entities */
export function trees(dataclass: 'Company' | 'Employee', depth: number): fc.Arbitrary<Tree> {
  const leaf: fc.Arbitrary<Tree> = fc.oneof(
    fc.constant<Tree>({ kind: 'all' }),
    fc.record({ kind: fc.constant('keys' as const), keys }),
  );
  if (depth === 0) return leaf;
  const of = trees(dataclass, depth - 1);
  const employees = fc.constantFrom<Relation[]>('boss', 'reports');
  const related =
    dataclass === 'Company'
      ? relatedBy(fc.constant<Relation>('employer'), trees('Employee', depth - 1))
      : fc.oneof(
          relatedBy(employees, of),
          relatedBy(fc.constant<Relation>('staff'), trees('Company', depth - 1)),
        );
  return fc.oneof(
    leaf,
    fc.record({
      kind: fc.constant('filter' as const),
      of,
      filter: fc.nat({ max: filterCount - 1 }),
      value: values,
    }),
    fc.record({ kind: fc.constant('order' as const), of, order: fc.nat({ max: orderCount - 1 }) }),
    fc.record(
      { kind: fc.constant('slice' as const), of, start: positions, end: positions },
      { requiredKeys: ['kind', 'of', 'start'] },
    ),
    fc.record({ kind: fc.constantFrom('and' as const, 'or', 'minus'), left: of, right: of }),
    fc.record({ kind: fc.constantFrom('and' as const, 'or', 'minus'), left: of, right: of }),
    // The same selection object on both sides.
    of.map((same): Tree => ({
      kind: 'or',
      left: { kind: 'slice', of: same, start: 1 },
      right: same,
    })),
    related,
  );
}

function relatedBy(relation: fc.Arbitrary<Relation>, of: fc.Arbitrary<Tree>): fc.Arbitrary<Tree> {
  return fc.record({ kind: fc.constant('related' as const), of, relation });
}

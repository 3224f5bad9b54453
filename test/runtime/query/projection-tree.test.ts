import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ProjectionNode, projectionTree } from '../../../runtime/query/projection.js';
import { FilterParser } from '../../../runtime/filter/prepared-filter.js';
import { expansionsOf } from '../../../runtime/query/expansions.js';
import { isServed, refusalOf } from '../refusal.js';

/** `*` for all attributes, children in braces. */
function sketch({ all, children }: ProjectionNode, name = ''): string {
  const parts = [...children].map(([child, node]) => sketch(node, child));
  const inside = [...(all ? ['*'] : []), ...parts].join(' ');
  return inside === '' ? name : `${name}{${inside}}`;
}

/** The lists as a request has them. */
type Texts = Partial<Record<'pathList' | 'attributes' | 'expand', string>>;

function tree({ expand, ...texts }: Texts): string | undefined {
  const limits = { expandDepth: 5, maxPageSize: 100 };
  const options = { pageSize: 100, dateOnlyFormat: 'iso', reportFormat: 'report' } as const;
  const filters = new FilterParser({ filterLength: 100, filterDepth: 10 });
  const context = { limits, options, filters };
  const expansions = expansionsOf(
    context,
    { longNames: () => undefined },
    { expand, params: undefined },
  );
  const root = projectionTree({ ...texts, expand: expansions }, 5);
  return root === undefined ? undefined : sketch(root);
}

describe('projectionTree', () => {
  it.each<[Texts, string | undefined]>([
    [{}, undefined],
    [{ attributes: '*' }, '{*}'],
    [{ attributes: 'a,b' }, '{a b}'],
    [{ pathList: 'b,a' }, '{b a}'],
    [{ pathList: 'x', attributes: 'a' }, '{a}'],
    [{ attributes: 'boss' }, '{boss}'],
    [{ attributes: 'boss.*' }, '{boss{*}}'],
    [{ attributes: 'boss.a,b,boss.c,b' }, '{boss{a c} b}'],
    [{ attributes: 'boss,boss.a' }, '{boss{a}}'],
    [{ attributes: 'a.b.c,a.b.*,a.d' }, '{a{b{* c} d}}'],
    [{ attributes: '*,boss.*' }, '{* boss{*}}'],
    [{ expand: 'boss' }, '{* boss{*}}'],
    [{ expand: 'boss,staff.*' }, '{* boss{*} staff{*}}'],
    [{ expand: 'boss.employer' }, '{* boss{* employer{*}}}'],
    [{ attributes: 'a,boss.b', expand: 'boss' }, '{a boss{* b}}'],
    [{ pathList: 'a', expand: 'boss' }, '{a boss{*}}'],
    [{ attributes: 'constructor.__proto__' }, '{constructor{__proto__}}'],
  ])('makes of %j the tree %s', (texts, want) => {
    expect(tree(texts)).toBe(want);
  });

  it('limits the relations of a path', () => {
    const path = 'r.r.r.r.r';
    for (const texts of [
      { attributes: `${path}.a` },
      { attributes: `${path}.*` },
      { expand: path },
    ]) {
      expect(isServed(() => tree(texts))).toBe(true);
    }
    const refusals = [
      { attributes: `a,${path}.r.a` },
      { pathList: `a,${path}.r.*` },
      { expand: `a,${path}.r` },
    ].map((texts) => refusalOf(() => tree(texts)));
    expect(refusals.map(({ code }) => code)).toEqual([1804, 1804, 1805]);
    expect(refusals[0]?.message).toBe(
      'Character 3 of $attributes: a path must not follow more than 5 relations.',
    );
  });

  it('refuses an empty list even if there is another one', () => {
    expect(refusalOf(() => tree({ pathList: 'a', attributes: '' })).code).toBe(1816);
    expect(refusalOf(() => tree({ attributes: 'a', expand: ' ' })).code).toBe(1816);
  });

  it('accepts or refuses any text', () => {
    const soup = fc
      .array(fc.constantFrom(...'ab., *é();="'.split(''), '$top=1', '$expand=', '\ud800'), {
        maxLength: 30,
      })
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(soup, soup, (attributes, expand) => {
        expect(isServed(() => tree({ attributes, expand }))).toBeTypeOf('boolean');
      }),
    );
  });
});

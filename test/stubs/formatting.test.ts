import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parse } from '../../generator/stubs/user-files.js';
import { applied, companyModel, isAddition, review, told } from '../support/company-stubs.js';

const path = 'src/classes/CompanyEntity.ts';
const before = companyModel({ entity: 'hire: { params: { person: Company } }' });
const after = companyModel({
  entity:
    'hire: { params: { person: Company } }, rename: { params: { to: Company.selection, "x²": date }, returns: "Company[]" }, "m²": { returns: message }',
});

const gap = fc.constantFrom('', ' ', '\n', '\n\n', '\t', ' /* gap */ ', ' // gap\n', '\n  ');
const semicolon = fc.constantFrom(';', '', ' ;');
const imports = fc.constantFrom(
  `import { CompanyEntityBase } from '../generated/api.js'`,
  `import {\n    CompanyEntityBase, // base\n    notWritten as todo,\n} from "../generated/api.js"`,
  `import type { CompanyEntity as Self } from '../generated/api.js';\nimport { type OutgoingMessage, CompanyEntityBase } from '../generated/api.js'`,
  `import * as every from '../generated/api.js'; const { CompanyEntityBase } = every`,
);
const member = fc.constantFrom(
  'count = 0',
  'readonly list: string[] = []',
  'get',
  'static rename = 1',
  '#hidden = `}`',
  '/** } */ own() { return "}" }',
  '@mark() async *steps() { yield 1 }',
  'declare x: { y: string }',
  'static { void 0 }',
  '[Symbol.iterator]() { return /[}]/ }',
);

const file = fc
  .record({
    shell: fc.constantFrom('', '#!/usr/bin/env node\n', '\ufeff', '// head\n'),
    imports,
    semicolon,
    gaps: fc.array(gap, { minLength: 6, maxLength: 6 }),
    members: fc.array(fc.tuple(member, fc.constantFrom(';\n', '\n', '\n\n\t')), { maxLength: 4 }),
    tail: fc.constantFrom('', '\n', '\nconst mark = (..._: unknown[]) => () => undefined\n'),
    windows: fc.boolean(),
  })
  .map(({ shell, imports: head, semicolon: end, gaps, members, tail, windows }) => {
    const own = members.map(([text, separator]) => `${text}${separator}`).join('');
    const text = `${shell}${head}${end}\n${gaps[0]}export class${gaps[1]} CompanyEntity${gaps[2]} extends CompanyEntityBase${gaps[3]}{${gaps[4]}hire(person: CompanyEntity) { return person }\n${own}${gaps[5]}}${tail}`;
    return windows ? text.replaceAll('\n', '\r\n') : text;
  });

it('An addition to a class of any format removes nothing', async () => {
  await fc.assert(
    fc.asyncProperty(file, async (text) => {
      // Members that lack a semicolon may run into each other.
      fc.pre(parse(path, text).syntaxError === undefined);
      const files = { [path]: text };
      const plan = await review(after, files, before);
      expect(told(plan)).toEqual([]);
      expect(plan.edits).toHaveLength(1);
      const changed = applied(files, plan);
      const edited = changed[path] ?? '';
      expect(isAddition(text, edited)).toBe(true);
      if (text.includes('\r\n')) expect(edited.replaceAll('\r\n', '')).not.toContain('\n');
      else expect(edited).not.toContain('\r');
      // The added members are found again, with the signatures of the model, and no others are
      // missing.
      const again = await review(after, changed);
      expect([again.edits, told(again)]).toEqual([[], []]);
      expect(edited).toMatch(/^\ufeff|^#!|^/);
      if (text.startsWith('#!')) expect(edited.startsWith('#!')).toBe(true);
    }),
    { numRuns: 300 },
  );
});

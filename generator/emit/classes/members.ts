import { docComment, fits, propertyName, stringLiteral } from '../layout.js';

/** A parameter with the text of its type. */
export interface ParameterText {
  readonly name: string;
  readonly type: string;
  readonly optional: boolean;
}

/**
 * `  declare readonly name: string;` in a class or an interface; a union that does not fit has a line for each part.
 * @param head modifiers, or `?` for a property that can be left out
 */
export function field(head: string, name: string, type: string, doc?: string): string {
  const mark = head === '?' ? '?' : '';
  const label = `  ${head === '' || mark === '?' ? '' : `${head} `}${propertyName(name)}${mark}`;
  const flat = `${label}: ${type};`;
  const parts = unionParts(type);
  const code = fits(flat) || parts.length === 1 ? flat : `${label}:${brokenUnion(type, parts)};`;
  return `${docComment(doc, 2)}${code}`;
}

/** The parts of a union, without those inside a literal, a generic type or parentheses. */
function unionParts(type: string): readonly string[] {
  const parts: string[] = [''];
  let depth = 0;
  for (const [token] of type.matchAll(tokens)) {
    if (token === '<' || token === '(') depth += 1;
    if (token === '>' || token === ')') depth -= 1;
    if (token === ' | ' && depth === 0) parts.push('');
    else parts.push((parts.pop() ?? '') + token);
  }
  return parts;
}

const tokens = /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"| \| |./gsu;

function brokenUnion(type: string, parts: readonly string[]): string {
  return fits(`    ${type};`) ? `\n    ${type}` : parts.map((each) => `\n    | ${each}`).join('');
}

/**
 * ` name(person: EmployeeEntity): Promise<EmployeeEntity>` in a class, its parameters in a line
 * each where they do not fit.
 * @param head the text before the name, such as `abstract`; may be empty
 * @param end what follows the type of the result: `;` or ` {`
 */
export function method(
  head: string,
  name: string,
  signature: { readonly params: readonly ParameterText[]; readonly returns: string },
  end: string,
): string {
  const before = `  ${head === '' ? '' : `${head} `}${name}`;
  const params = signature.params.map(
    (each) => `${each.name}${each.optional ? '?' : ''}: ${each.type}`,
  );
  const flat = `${before}(${params.join(', ')}): ${signature.returns}${end}`;
  if (fits(flat)) return flat;
  if (params.length === 0) return `${before}(): ${brokenArgument(signature.returns)}${end}`;
  const lines = params.map((each) => `    ${each},\n`).join('');
  const last = `  ): ${signature.returns}${end}`;
  const returns = fits(last) ? signature.returns : brokenArgument(signature.returns);
  return `${before}(\n${lines}  ): ${returns}${end}`;
}

/** The argument of a generic type on a line of its own, unless it is a single name. */
function brokenArgument(type: string): string {
  const [, generic, argument] = /^(\w+)<(.* .*|.*\[\])>$/su.exec(type) ?? [];
  return generic === undefined || argument === undefined
    ? type
    : `${generic}<\n    ${argument}\n  >`;
}

/** A name in a user's file: unquoted wherever TypeScript allows it. */
export function memberName(name: string): string {
  return /^[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*$/u.test(name)
    ? name
    : stringLiteral(name);
}

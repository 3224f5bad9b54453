import { call, docComment, stringLiteral } from '../layout.js';
import type { WrittenMember } from './abstract-members.js';
import { memberName, method } from './members.js';
import type { UserClass } from './user-classes.js';

/**
 * A member that nobody has written yet, as code of a class, indented by two spaces: it throws what tells the client so. Its
 * arguments are handed on, so that no linter calls them unused.
 */
export function stubMember(
  { name: className, path }: Pick<UserClass, 'name' | 'path'>,
  { name, kind, params, returnsFirst, description }: WrittenMember,
): string {
  const label = memberName(name);
  const args = [`${className}.${name}`, path].map(stringLiteral);
  const thrown = call('throw notWritten', [...args, ...params.map((each) => each.name)], 4);
  const end = ` {\n    ${thrown};\n  }`;
  if (kind === 'get') return `${docComment(description, 2)}  get ${label}(): ${returnsFirst}${end}`;
  if (kind === 'set') {
    return `  set ${label}(${String(params[0]?.name)}: ${String(params[0]?.type)})${end}`;
  }
  const head = method('', label, { params, returns: returnsFirst }, ' {');
  return `${docComment(description, 2)}${head}\n    ${thrown};\n  }`;
}

/** What a file must import for a stub, `notWritten` beside. */
export function stubUses({ kind, uses, returnsFirst }: WrittenMember): readonly string[] {
  const unused = ['FunctionResult', 'EventAnswer'];
  const used = uses.filter((each) => !unused.includes(each));
  return kind === 'event' && returnsFirst.includes('EventError') ? [...used, 'EventError'] : used;
}

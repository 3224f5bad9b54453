import { call, docComment, stringLiteral } from '../layout.js';
import type { WrittenMember } from './abstract-members.js';
import { memberName, method } from './members.js';
import type { UserClass } from './user-classes.js';

/**
 * A member that nobody has written yet, as code of a class, indented by two spaces: it throws an
 * error that tells the client so. It passes its arguments on, so that no linter calls them unused.
 * @param local the name by which the file imports a name of `src/generated/api.ts`
 */
export function stubMember(
  { name: className, path }: Pick<UserClass, 'name' | 'path'>,
  member: WrittenMember,
  local: (name: string) => string = (name) => name,
): string {
  const { name, kind, description } = member;
  const types = stubUses(member);
  const inFile = (type: string): string =>
    type.replace(identifier, (each) => (types.includes(each) ? local(each) : each));
  const params = member.params.map((each) => ({ ...each, type: inFile(each.type) }));
  const returns = inFile(member.returnsFirst);
  const label = memberName(name);
  const args = [
    stringLiteral(`${className}.${name}`),
    stringLiteral(path),
    ...params.map((each) => each.name),
  ];
  const end = ` {\n    ${call(`throw ${local('notWritten')}`, args, 4)};\n  }`;
  const doc = docComment(description, 2);
  if (kind === 'get') return `${doc}  get ${label}(): ${returns}${end}`;
  if (kind === 'set') {
    return `  set ${label}(${params.map((each) => `${each.name}: ${each.type}`).join('')})${end}`;
  }
  return `${doc}${method('', label, { params, returns }, ' {').slice(0, -2)}${end}`;
}

const identifier = /[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*/gu;

/** The names that a file must import for a stub, in addition to `notWritten`. */
export function stubUses({ kind, uses, returnsFirst }: WrittenMember): readonly string[] {
  const unused = ['FunctionResult', 'EventAnswer'];
  const used = uses.filter((each) => !unused.includes(each));
  return kind === 'event' && returnsFirst.includes('EventError') ? [...used, 'EventError'] : used;
}

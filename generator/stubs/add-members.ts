import type { WrittenMember } from '../emit/classes/abstract-members.js';
import { stubMember, stubUses } from '../emit/classes/stub-member.js';
import type { UserClass } from '../emit/classes/user-classes.js';
import type { FoundClass } from './find-class.js';
import { insertImports, type Need } from './insert-imports.js';
import { insertMembers } from './insert-members.js';
import { type Insertion, withInsertions } from './insertions.js';
import type { NamesInFile } from './names-in-file.js';
import { styleOf } from './style.js';
import { parse, type UserFile } from './user-files.js';

/** Members that a user's class lacks. */
export interface Addition {
  readonly userClass: UserClass;
  readonly found: FoundClass;
  readonly members: readonly WrittenMember[];
}

/**
 * The text of a file with members added to some of its classes, and the imports that these need.
 * Everything else stays as it is.
 * @param names the file's names for those of the API
 * @param own the file's names for classes of the model that it contains itself
 */
export function addMembers(
  file: UserFile,
  additions: readonly Addition[],
  names: NamesInFile,
  own: ReadonlyMap<string, string>,
): string {
  const style = styleOf(file.text);
  const members = additions.flatMap((each) => each.members);
  const needs: readonly Need[] = [
    { name: 'notWritten', use: 'value' },
    ...members.flatMap(stubUses).map((name) => ({ name, use: 'type' }) as const),
  ];
  const known = {
    local: (name: string, use: Need['use']) => own.get(name) ?? names.local(name, use),
    taken: names.taken,
  };
  const imports = insertImports(file, known, needs, style);
  const local = (name: string): string => imports.local.get(name) ?? name;
  const insertions = additions.flatMap(
    ({ userClass, found, members: missing }): readonly Insertion[] => {
      const place = { name: userClass.name, path: file.path };
      const code = missing.map((each) => stubMember(place, each, local));
      return insertMembers(found, code, style);
    },
  );
  const text = withInsertions(file.text, [...imports.insertions, ...insertions]);
  const { syntaxError } = parse(file.path, text);
  if (syntaxError !== undefined) {
    throw new Error(`What was added to ${file.path} is no TypeScript: ${syntaxError.message}`);
  }
  return text;
}

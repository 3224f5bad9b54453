import { statement } from '../../classes/imports.js';
import { stubMember, stubUses } from '../../classes/stub-member.js';
import type { UserClass } from '../../classes/user-classes.js';

/** The first text of a class that the user writes. */
export function userClassView(userClass: UserClass): object {
  const { name, base, members } = userClass;
  const names = new Map(
    members
      .flatMap(stubUses)
      .filter((each) => each !== name)
      .map((each) => [each, false]),
  );
  names.set(base, true);
  if (members.length > 0) names.set('notWritten', true);
  return {
    imports: statement('import', '../generated/api.js', names),
    name,
    base,
    members: members.map((member, index) => ({
      between: index === 0 ? '' : '\n',
      code: stubMember(userClass, member),
    })),
  };
}

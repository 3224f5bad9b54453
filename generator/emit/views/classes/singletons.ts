import { abstractMembers, functionMembers } from '../../classes/abstract-members.js';
import { importsOf } from '../../classes/places.js';
import type { EmitContext } from '../../context.js';
import { docComment } from '../../layout.js';

/** The base classes of the singletons. */
export function singletonsView({ header, model, classNames, namePlaces }: EmitContext): object {
  const uses = new Set(['DataStore', 'Singleton']);
  const singletons = model.singletons.map((singleton) => {
    const written = functionMembers(model, classNames, singleton.functions, '');
    for (const each of written.flatMap((member) => member.uses)) uses.add(each);
    const head = `export abstract class ${classNames.ofSingleton(singleton).base} extends Singleton<DataStore>`;
    const members = abstractMembers(written);
    return {
      doc: docComment(singleton.description),
      code: `${head} {${members.length === 0 ? '' : `\n${members.join('\n')}\n`}}`,
    };
  });
  return {
    header,
    imports: importsOf(namePlaces, 'generated/singletons', uses, new Set(['Singleton'])),
    singletons,
  };
}

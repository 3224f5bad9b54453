import { abstractMembers, functionMembers } from '../../classes/abstract-members.js';
import { field } from '../../classes/members.js';
import { dataStoreFile, importsOf, placeOf } from '../../classes/places.js';
import type { EmitContext } from '../../context.js';
import { docComment } from '../../layout.js';

/** The base class of the datastore, and its class if the user writes none. */
export function dataStoreView({ header, model, classNames, namePlaces }: EmitContext): object {
  const written = functionMembers(model, classNames, model.functions, 'datastore.functions');
  const uses = new Set(['Database', 'Datastore', ...written.flatMap((each) => each.uses)]);
  const members = model.dataclasses.map((each) => {
    const type = classNames.of(each).written.dataclass;
    uses.add(type);
    return field('declare readonly', each.name, type);
  });
  return {
    header,
    imports: importsOf(namePlaces, dataStoreFile, uses, new Set(['Datastore'])),
    doc: docComment(model.description),
    members: [...members, ...abstractMembers(written)],
    own:
      placeOf(namePlaces, 'DataStore').path === dataStoreFile
        ? ['export class DataStore extends DataStoreBase {}']
        : [],
  };
}

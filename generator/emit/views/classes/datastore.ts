import { abstractMembers, functionMembers } from '../../classes/abstract-members.js';
import { field } from '../../classes/members.js';
import { dataStorePlace, importsOf } from '../../classes/places.js';
import type { EmitContext } from '../../context.js';
import { docComment } from '../../layout.js';

const file = 'generated/classes/DataStore';

/** The base class of the datastore, and its class where the user writes none. */
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
    imports: importsOf(namePlaces, file, uses, new Set(['Datastore'])),
    doc: docComment(model.description),
    members: [...members, ...abstractMembers(written)],
    own: dataStorePlace(model) === file ? ['export class DataStore extends DataStoreBase {}'] : [],
  };
}

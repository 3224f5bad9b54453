import { importsOf } from '../../classes/places.js';
import type { EmitContext } from '../../context.js';
import { declaration, RawCode } from '../../layout.js';
import { exposedFunctions } from '../functions.js';

/** The classes that the server makes its objects from. */
export function registryView(context: EmitContext): object {
  const { header, model, classNames, namePlaces } = context;
  const values = new Set(['DataStore']);
  const use = (name: string): RawCode => {
    values.add(name);
    return new RawCode(name);
  };
  const dataclasses = model.dataclasses.map((dataclass) => {
    const { dataclass: own, entity, selection } = classNames.of(dataclass).written;
    const classes = { dataclass: use(own), entity: use(entity), selection: use(selection) };
    return [dataclass.name, classes] as const;
  });
  const singletons = model.singletons.map((singleton) => {
    const value = {
      singleton: use(classNames.ofSingleton(singleton).written),
      scope: singleton.scope,
      functions: exposedFunctions(singleton.functions, 'singleton'),
    };
    return [singleton.name, value] as const;
  });
  return {
    header,
    imports: importsOf(namePlaces, 'generated/classes', [...values, 'ClassRegistry'], values),
    declaration: declaration('export const classes: ClassRegistry', {
      datastore: use('DataStore'),
      datastoreFunctions: exposedFunctions(model.functions, 'datastore'),
      dataclasses: Object.fromEntries(dataclasses),
      singletons: Object.fromEntries(singletons),
    }),
  };
}

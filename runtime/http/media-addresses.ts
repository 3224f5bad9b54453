import type { DataclassDefinition } from '../protocol/definition.js';

/** Where an image is set in one step: its body may be as large as an upload. */
export function imageAddresses(definitions: readonly DataclassDefinition[]): ReadonlySet<string> {
  return new Set(
    definitions
      .filter(({ attributes }) =>
        attributes.some((each) => each.kind === 'storage' && each.type === 'image'),
      )
      .map(({ name }) => `/rest/${name}(:key/:attributes`),
  );
}

/** Whether entities of the model have images or BLOBs. */
export function hasMedia(definitions: readonly DataclassDefinition[]): boolean {
  return definitions.some(({ attributes }) =>
    attributes.some((each) => each.kind === 'storage' && /^(?:image|blob)$/.test(each.type)),
  );
}

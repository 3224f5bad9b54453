import type { DataclassDefinition } from '../protocol/definition.js';
import type { Limits } from './settings.js';

/** Bytes that bodies may have. */
export interface BodySizes {
  readonly usual: number;
  /** Where images are set; the same as `usual` in a model without images. */
  readonly images: number;
  /** Addresses of the emitted code where they are. */
  readonly imageAddresses: ReadonlySet<string>;
}

/** An image is set in one step, so its body may be as large as an upload. */
export function bodySizes(
  definitions: readonly DataclassDefinition[],
  { bodySize, uploadSize }: Pick<Limits, 'bodySize' | 'uploadSize'>,
): BodySizes {
  const withImages = definitions.filter(({ attributes }) =>
    attributes.some((each) => each.kind === 'storage' && each.type === 'image'),
  );
  return {
    usual: bodySize,
    images: withImages.length === 0 ? bodySize : Math.max(bodySize, uploadSize),
    imageAddresses: new Set(withImages.map(({ name }) => `/rest/${name}(:key/:attributes`)),
  };
}

/** Whether entities of the model have images or BLOBs. */
export function hasMedia(definitions: readonly DataclassDefinition[]): boolean {
  return definitions.some(({ attributes }) =>
    attributes.some((each) => each.kind === 'storage' && /^(?:image|blob)$/.test(each.type)),
  );
}

import type { Media } from '../class/types.js';
import { contentTypeOf, imageType } from '../protocol/image-types.js';

/** An image or BLOB that a client sent as an argument: an upload, whose bytes are there. */
export class GivenMedia implements Media {
  readonly #bytes: Uint8Array;
  readonly #isImage: boolean;

  constructor(bytes: Uint8Array, isImage: boolean) {
    this.#bytes = bytes;
    this.#isImage = isImage;
  }

  get size(): number {
    return this.#bytes.length;
  }

  get contentType(): Promise<string> {
    return Promise.resolve(contentTypeOf(this.#isImage ? imageType(this.#bytes) : undefined));
  }

  read(): Promise<Uint8Array> {
    return Promise.resolve(this.#bytes);
  }

  /** @throws TypeError always: it belongs to no entity */
  set(): never {
    throw new TypeError('An argument belongs to no entity: set its bytes in an attribute of one.');
  }
}

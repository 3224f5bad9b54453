/** `$params` as a list, or as an object whose members a filter names. */
export type ParamsStyle = 'list' | 'object' | 'nested';

/** Values of placeholders; an existing value may be used again. */
export class Params {
  readonly #values: unknown[] = [];
  readonly #style: ParamsStyle;

  constructor(style: ParamsStyle) {
    this.#style = style;
  }

  /** @returns the placeholder, `:1` for instance */
  add(value: unknown): string {
    const known = this.#values.findIndex((each) => JSON.stringify(each) === JSON.stringify(value));
    // Every third value is sent again.
    const isKnown = known !== -1 && this.#values.length % 3 !== 0;
    const index = isKnown ? known : this.#values.push(value) - 1;
    switch (this.#style) {
      case 'list':
        return `:${String(index + 1)}`;
      case 'object':
        return `:${name(index)}`;
      case 'nested':
        return `:größe.${name(index)}`;
    }
  }

  get json(): unknown {
    if (this.#values.length === 0) return undefined;
    if (this.#style === 'list') return this.#values;
    const members = Object.fromEntries(this.#values.map((each, index) => [name(index), each]));
    return this.#style === 'object' ? members : { größe: members };
  }
}

function name(index: number): string {
  return ['and', '_', 'p1', 'IN', 'x'].at(index) ?? `value${String(index)}`;
}

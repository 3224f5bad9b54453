/** A way through the addresses: what stands literally between two slashes is tried before what a request gives. */
export class AddressTree<T> {
  readonly #literals = new Map<string, AddressTree<T>>();
  #parameter: AddressTree<T> | undefined;
  /** What the address leads to that ends here. */
  #end: T | undefined;

  /**
   * @param steps the parts of an address between its slashes; `undefined` stands for what a request gives
   * @throws Error when the address leads somewhere already
   */
  add(steps: readonly (string | undefined)[], end: T, from = 0): void {
    if (from === steps.length) {
      if (this.#end !== undefined) throw new Error('An address leads to two things.');
      this.#end = end;
      return;
    }
    this.#next(steps[from]).add(steps, end, from + 1);
  }

  /** What an address leads to, by its parts between slashes; `undefined` where nothing is. */
  find(parts: readonly string[], from = 0): T | undefined {
    const part = parts[from];
    if (part === undefined) return this.#end;
    return (
      this.#literals.get(part)?.find(parts, from + 1) ?? this.#parameter?.find(parts, from + 1)
    );
  }

  #next(step: string | undefined): AddressTree<T> {
    if (step === undefined) return (this.#parameter ??= new AddressTree());
    let next = this.#literals.get(step);
    if (next === undefined) {
      next = new AddressTree();
      this.#literals.set(step, next);
    }
    return next;
  }
}

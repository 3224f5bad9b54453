/** Class code gives an attribute a value that it cannot have; nothing was changed. */
export class AttributeError extends TypeError {
  /**
   * @param attribute its name
   * @param predicate of a sentence that begins with the attribute
   */
  constructor(
    dataclass: string,
    readonly attribute: string,
    readonly predicate: string,
  ) {
    super(`${dataclass}.${attribute} ${predicate}.`);
  }
}

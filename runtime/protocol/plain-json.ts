/**
 * The JSON of a value that is kept, and read again as it was.
 * @param shown the value in the message
 * @throws TypeError for what JSON cannot hold
 */
export function jsonOf(value: unknown, shown: string): string {
  try {
    requireJson(value, []);
    return JSON.stringify(value);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new TypeError(`${shown} cannot be stored as JSON: ${reason}`, { cause: error });
  }
}

/** @param above the objects that contain the value */
function requireJson(value: unknown, above: readonly object[]): void {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return;
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return;
    throw new TypeError(`JSON has no ${value}.`);
  }
  if (typeof value !== 'object') throw new TypeError(`JSON has no ${typeof value}.`);
  if (above.includes(value)) throw new TypeError('it contains itself.');
  const within = [...above, value];
  if (Array.isArray(value)) {
    for (const each of value as readonly unknown[]) requireJson(each, within);
    return;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw new TypeError(`it holds a ${classOf(value)}, and JSON has only plain objects.`);
  }
  for (const each of Object.values(value)) {
    // JSON omits such a property, and reading it returns `undefined` all the same.
    if (each !== undefined) requireJson(each, within);
  }
}

function classOf(value: object): string {
  return value.constructor.name;
}

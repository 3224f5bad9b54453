/** Sets a member of an object, whatever its name: a plain assignment to `__proto__` would make none. */
export function setMember(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__') {
    const own = { value, enumerable: true, configurable: true, writable: true };
    Object.defineProperty(object, name, own);
  } else object[name] = value;
}

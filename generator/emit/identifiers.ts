const identifier = /^[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*$/u;

/**
 * TypeScript names for the dataclasses of a model, by their model names. A model name may hold
 * characters that TypeScript does not allow in a name (`x²`); they become `_`, with a number at the
 * end if two names would be equal.
 */
export function identifiers(names: readonly string[]): ReadonlyMap<string, string> {
  const taken = new Set(names.filter((name) => identifier.test(name)));
  const result = new Map<string, string>();
  for (const name of names) {
    if (identifier.test(name)) {
      result.set(name, name);
      continue;
    }
    const plain = Array.from(name, (each) => (/[\p{ID_Continue}]/u.test(each) ? each : '_')).join(
      '',
    );
    let candidate = plain;
    for (let i = 2; taken.has(candidate); i += 1) candidate = `${plain}${i}`;
    taken.add(candidate);
    result.set(name, candidate);
  }
  return result;
}

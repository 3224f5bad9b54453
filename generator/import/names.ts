import { fold } from '../../runtime/protocol/fold.js';

const longest = 63;

/** A text as a name of the model: letters, digits and `_`, at most 63 characters. */
export function nameFrom(text: string): string {
  const name = text
    .normalize('NFC')
    .trim()
    .replaceAll(/[^\p{L}\p{N}_]/gu, '_')
    .replace(/^__+/u, '_')
    .replace(/^(?=\p{N})/u, '_');
  return Array.from(name === '' ? '_' : name)
    .slice(0, longest)
    .join('');
}

interface ScopeRules {
  /** Whether a name cannot be used here, in exactly this spelling. */
  readonly isReserved?: (name: string) => boolean;
  /** PostgreSQL counts bytes. */
  readonly countsBytes?: boolean;
}

/** The names of one scope, which differ in more than case. */
export class Scope {
  readonly #taken = new Set<string>();
  /** Attempts that have failed, by the wanted name: names are never given back. */
  readonly #failed = new Map<string, number>();

  constructor(private readonly rules: ScopeRules = {}) {}

  has(name: string): boolean {
    return this.#taken.has(fold(name));
  }

  /** Takes a name as it is. */
  take(name: string): void {
    this.#taken.add(fold(name));
  }

  /** Takes the first free name that is like the wanted text. */
  nameFor(text: string): string {
    const wanted = this.#cut(nameFrom(text), longest);
    for (let attempt = this.#failed.get(wanted) ?? 0; attempt < mostAttempts; attempt += 1) {
      const name = attempt === 0 ? wanted : this.#suffixed(wanted, attempt);
      if (this.has(name) || this.rules.isReserved?.(name) === true) continue;
      this.take(name);
      this.#failed.set(wanted, attempt + 1);
      return name;
    }
    throw new Error(`No name is like ${JSON.stringify(wanted)}.`);
  }

  /** `name_`, `name_2`, `name_3`, …; where no name may begin like this one, `x_name`. */
  #suffixed(name: string, attempt: number): string {
    const suffix = attempt === 1 ? '_' : `_${String(attempt)}`;
    const isReserved = this.rules.isReserved?.(`${name}_`) === true;
    // `_` alone would become `__`, which belongs to the protocol.
    const head = /^_+$/u.test(name) ? 'x' : isReserved ? `x_${name}` : name;
    return isReserved && attempt === 1
      ? this.#cut(head, longest)
      : `${this.#cut(head, longest - suffix.length)}${suffix}`;
  }

  #cut(text: string, length: number): string {
    const size = (of: string): number =>
      this.rules.countsBytes === true ? Buffer.byteLength(of) : Array.from(of).length;
    let cut = text;
    while (size(cut) > length) cut = Array.from(cut).slice(0, -1).join('');
    return cut;
  }
}

const mostAttempts = 100_000;

/** The name of a datastore is that of an npm package. */
export function datastoreName(texts: readonly string[]): string {
  for (const text of texts) {
    const name = text
      .normalize('NFKD')
      .toLowerCase()
      .replaceAll(/\p{M}/gu, '')
      .replaceAll(/[^a-z0-9]+/g, '-')
      .replaceAll(/^-+|-+$/g, '');
    if (name === '') continue;
    return (/^[a-z]/.test(name) ? name : `db-${name}`).slice(0, longest).replace(/-+$/, '');
  }
  return 'datastore';
}

/** Whether SQL can have a table or column of this name, and the server leaves it to the model. */
export function isSqlName(name: string): boolean {
  return (
    name !== '' &&
    Array.from(name).length <= longest &&
    !/[\p{C}\p{Zl}\p{Zp}]|^__|^sqlite_/iu.test(name)
  );
}

/** Whether a table can have this name; see the check of tables. */
export function isTableName(name: string): boolean {
  return (
    isSqlName(name) &&
    !/^(?:json_each|json_tree|pragma_.*|pg_.*)$/isu.test(name) &&
    !name.includes('.') &&
    !/ as /.test(name)
  );
}

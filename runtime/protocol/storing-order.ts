/** A dataclass whose rows are stored, or a part of a source that becomes one. */
interface Linked {
  readonly name: string;
  readonly links: readonly Link[];
}

export interface Link {
  /** The name of the dataclass that the relation leads to. */
  readonly target: string;
  readonly foreignKey: string;
  readonly isMandatory: boolean;
}

/**
 * The order in which rows are stored: related dataclasses come first, so that their keys are there.
 * In a circle, foreign keys that may be null are held until all rows are there.
 */
export function storingOrder<Part extends Linked>(
  parts: readonly Part[],
): readonly { readonly part: Part; readonly held: readonly string[] }[] {
  const waiting = new Set(parts);
  return parts.flatMap(() => {
    const names = new Set([...waiting].map(({ name }) => name));
    const openOf = ({ links }: Part): readonly Link[] =>
      links.filter(({ target }) => names.has(target));
    const waitsFor = (part: Part, isWaited: (link: Link) => boolean): boolean =>
      openOf(part).some((link) => link.target !== part.name && isWaited(link));
    const all = [...waiting];
    const part =
      all.find((each) => !waitsFor(each, () => true)) ??
      all.find((each) => !waitsFor(each, ({ isMandatory }) => isMandatory)) ??
      all[0];
    if (part === undefined) return [];
    waiting.delete(part);
    const optional = openOf(part).filter(({ isMandatory }) => !isMandatory);
    return [{ part, held: optional.map(({ foreignKey }) => foreignKey) }];
  });
}

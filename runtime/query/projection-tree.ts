export interface ProjectionNode {
  /** Empty for the root, the entity itself. */
  readonly name: string;
  /** Every attribute of the entity, and beside them the children. */
  readonly all: boolean;
  /** In order of first mention. */
  readonly children: readonly ProjectionNode[];
}

export interface ProjectionTexts {
  /** `a,b` of `/Employee/a,b`. */
  readonly pathList?: string | undefined;
  readonly attributes?: string | undefined;
  readonly expand?: string | undefined;
}

/** `undefined` when the request names no attributes at all. */
export function projectionTree(
  texts: ProjectionTexts,
  expandDepth: number,
): ProjectionNode | undefined {
  void [texts, expandDepth];
  throw new Error('not written yet');
}

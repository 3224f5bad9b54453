export interface Parameters {
  readonly filter: string | undefined;
  readonly params: readonly unknown[] | undefined;
  readonly orderby: string | undefined;
  readonly skip: number | undefined;
  readonly top: number | undefined;
  readonly expand: string | undefined;
  readonly attributes: string | undefined;
  readonly method: string | undefined;
}

export type RequestMode = 'read' | 'write';

export function readParameters(
  query: Readonly<Record<string, unknown>>,
  mode: RequestMode,
): Parameters {
  void [query, mode];
  throw new Error('not written yet');
}

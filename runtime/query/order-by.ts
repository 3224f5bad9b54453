export interface OrderItem {
  readonly path: readonly string[];
  readonly descending: boolean;
}

export function parseOrderBy(text: string): readonly OrderItem[] {
  void text;
  throw new Error('not written yet');
}

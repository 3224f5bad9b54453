/** The functions of `$compute` and of aggregates in a model, in the order of the answer to `$all`. */
export const aggregates = ['count', 'sum', 'average', 'min', 'max'] as const;

export type Aggregate = (typeof aggregates)[number];

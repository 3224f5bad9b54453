export type Feature =
  | 'lists'
  | 'containsAndWords'
  | 'pathPlaceholders'
  | 'namedPlaceholders'
  | 'ordinals'
  | 'objectProperties'
  | 'elements'
  | 'orderByProperties'
  | 'orderByInFilter'
  | 'accentInsensitive'
  | 'wildcard'
  | 'distinct'
  | 'compute'
  | 'asArray';

/**
 * The features that random requests and models use. All are on: a feature that a server does not
 * have yet can be switched off here, so that the rest is still compared.
 */
export const features: Readonly<Record<Feature, boolean>> = {
  /** `IN [a, b]` and `IN :1`. */
  lists: true,
  /** `contains` and `%`. */
  containsAndWords: true,
  /** `:1 = :2`, where the first value is the text of a path. */
  pathPlaceholders: true,
  /** `:name`, with an object as `$params`. */
  namedPlaceholders: true,
  /** `staff{2}.name`. */
  ordinals: true,
  /** `extra.a.b = 1` and `extra.list.length`. */
  objectProperties: true,
  /** `extra.list[].x` and `extra.list[a].x`. */
  elements: true,
  /** `$orderby=extra.a`. */
  orderByProperties: true,
  /** `order by` inside `$filter`. */
  orderByInFilter: true,
  /** `protocol.accentInsensitive`. */
  accentInsensitive: true,
  /** `protocol.wildcard`. */
  wildcard: true,
  /** `$distinct=true`. */
  distinct: true,
  /** `$compute`. */
  compute: true,
  /** `$asArray=true`. */
  asArray: true,
};

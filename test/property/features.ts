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
 * What random requests and models use. All of it is on: a feature that a server does not have yet can be switched off here,
 * so that the rest is still compared.
 */
export const features: Readonly<Record<Feature, boolean>> = {
  /** `IN [a, b]` and `IN :1`. */
  lists: false,
  /** `contains` and `%`. */
  containsAndWords: false,
  /** `:1 = :2`, where the first value is the text of a path. */
  pathPlaceholders: false,
  /** `:name`, with an object as `$params`. */
  namedPlaceholders: false,
  /** `staff{2}.name`. */
  ordinals: false,
  /** `extra.a.b = 1` and `extra.list.length`. */
  objectProperties: false,
  /** `extra.list[].x` and `extra.list[a].x`. */
  elements: false,
  /** `$orderby=extra.a`. */
  orderByProperties: false,
  /** `order by` inside `$filter`. */
  orderByInFilter: false,
  /** `protocol.accentInsensitive`. */
  accentInsensitive: true,
  /** `protocol.wildcard`. */
  wildcard: false,
  /** `$distinct=true`. */
  distinct: false,
  /** `$compute`. */
  compute: false,
  /** `$asArray=true`. */
  asArray: false,
};

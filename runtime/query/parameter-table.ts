/** What a parameter of the protocol is to this version. */
export interface ParameterRule {
  /** As the protocol writes it. */
  readonly name: string;
  readonly role: ParameterRole;
}

export type ParameterRole =
  | 'filter'
  | 'params'
  | 'orderby'
  | 'skip'
  | 'top'
  | 'limit'
  | 'expand'
  | 'attributes'
  | 'method'
  | 'timeout'
  | 'savedfilter'
  | 'savedorderby'
  | 'subOrderby'
  | 'logicOperator'
  | 'otherCollection'
  /** `true` or `false`. */
  | 'clean'
  | 'asArray'
  | 'queryplan'
  | 'querypath'
  | 'compute'
  | 'distinct'
  | 'atomic'
  | 'refresh'
  | 'imageformat'
  | 'version'
  | 'binary'
  | 'rawPict'
  /** Tolerated, without effect (protocol decision 2). */
  | 'ignored'
  | 'format'
  | 'lock';

const byRole: Readonly<Record<ParameterRole, readonly string[]>> = {
  filter: ['$filter'],
  params: ['$params'],
  orderby: ['$orderby'],
  skip: ['$skip'],
  top: ['$top'],
  limit: ['$limit'],
  expand: ['$expand'],
  attributes: ['$attributes'],
  method: ['$method'],
  timeout: ['$timeout'],
  savedfilter: ['$savedfilter'],
  savedorderby: ['$savedorderby'],
  subOrderby: ['$subOrderby'],
  logicOperator: ['$logicOperator'],
  otherCollection: ['$otherCollection'],
  clean: ['$clean'],
  asArray: ['$asArray'],
  queryplan: ['$queryplan'],
  querypath: ['$querypath'],
  compute: ['$compute'],
  distinct: ['$distinct'],
  imageformat: ['$imageformat'],
  version: ['$version'],
  binary: ['$binary'],
  rawPict: ['$rawPict'],
  ignored: ['$metadata'],
  atomic: ['$atomic', '$atOnce'],
  refresh: ['$refresh'],
  format: ['$format'],
  lock: ['$lock'],
};

/** Every parameter of the protocol, by its name in lower case (protocol decision 2). */
export const parameterRules: ReadonlyMap<string, ParameterRule> = new Map(
  (Object.keys(byRole) as ParameterRole[]).flatMap((role) =>
    byRole[role].map((name) => [name.toLowerCase(), { name, role }] as const),
  ),
);

/** Every parameter of the protocol, as the protocol writes it. */
export const parameterNames: readonly string[] = Object.values(byRole).flat();

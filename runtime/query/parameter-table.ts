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
  /** Tolerated, without effect (protocol decision 2). */
  | 'ignored'
  /** A switch that is not built: only `false`, its default, is served. */
  | 'unbuiltSwitch'
  /** `true` or an expression, not built: only `false`, its default, is served. */
  | 'unbuiltDefinition'
  /** `$format`: only `json`, its default, is served. */
  | 'format'
  | 'unbuiltSeconds'
  | 'unbuilt';

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
  ignored: ['$metadata', '$version'],
  unbuiltSwitch: [
    '$distinct',
    '$asArray',
    '$queryplan',
    '$querypath',
    '$clean',
    '$atomic',
    '$atOnce',
    '$refresh',
    '$binary',
    '$rawPict',
  ],
  unbuiltDefinition: ['$savedfilter', '$savedorderby'],
  format: ['$format'],
  unbuiltSeconds: ['$timeout'],
  unbuilt: [
    '$compute',
    '$lock',
    '$logicOperator',
    '$otherCollection',
    '$subOrderby',
    '$imageformat',
    '$upload',
  ],
};

/** Every parameter of the protocol, by its name in lower case (protocol decision 2). */
export const parameterRules: ReadonlyMap<string, ParameterRule> = new Map(
  (Object.keys(byRole) as ParameterRole[]).flatMap((role) =>
    byRole[role].map((name) => [name.toLowerCase(), { name, role }] as const),
  ),
);

/** Every parameter of the protocol, as the protocol writes it. */
export const parameterNames: readonly string[] = Object.values(byRole).flat();

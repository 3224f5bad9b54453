/** A request, without its session. */
export interface Probe {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly body?: unknown;
}

/** Every place where a client can write the name of an attribute of a dataclass. */
export function placesOf(dataclass: string, key: string): readonly ((name: string) => Probe)[] {
  const gets: readonly ((name: string) => string)[] = [
    (name) => `/${name}`,
    (name) => `/ID,${name}`,
    (name) => `(${key})/${name}`,
    (name) => `(${key})/${name}?$expand=${name}`,
    (name) => `(${key})/${name}?$method=entityset`,
    (name) => `:${name}(x)`,
    (name) => `/${name}?$distinct=true`,
    (name) => `/${name}?$asArray=true`,
    (name) => `/${name}?$compute=count`,
    (name) => `/${name}?$compute=$all`,
    (name) => `?$groupby=${name}`,
    (name) => `?$groupby=ID&$compute=max(${name})`,
    (name) => `?$groupby=ID&$having=max(${name})=1`,
    (name) => `?$groupby=ID&$having=${name}=1`,
    (name) => `?$groupby=ID&$orderby=max(${name})`,
    (name) => `?$filter=${name}=1`,
    (name) => `?$filter=${name}%20=%20null`,
    (name) => `?$filter=NOT(${name}%20begin%20'x')`,
    (name) => `?$filter=${name}=:1&$params=['x']`,
    (name) => `?$filter=${name}.name='x'`,
    (name) => `?$filter=ID=1%20order%20by%20${name}`,
    (name) => `?$filter=ID=1&$method=entityset&$savedfilter=true&$orderby=${name}`,
    (name) => `?$orderby=${name}`,
    (name) => `?$orderby=${name}%20desc,ID`,
    (name) => `?$attributes=${name}`,
    (name) => `?$attributes=ID,${name}`,
    (name) => `?$attributes=${name}.*`,
    (name) => `?$attributes=${name}.name`,
    (name) => `?$expand=${name}`,
    (name) => `?$format=looker&$attributes=${name}`,
    (name) => `?$filter=${name}=1&$queryplan=true&$querypath=true`,
  ];
  return [
    ...gets.map((rest) => (name: string): Probe => ({
      method: 'GET',
      url: `/rest/${dataclass}${rest(name)}`,
    })),
    // For an existing entity, with a wrong stamp, so that nothing is ever stored.
    (name) => ({
      method: 'POST',
      url: `/rest/${dataclass}?$method=update`,
      body: { __KEY: key, __STAMP: 77, [name]: 'x' },
    }),
    (name) => ({ method: 'POST', url: `/rest/${dataclass}?$method=delete&$filter=${name}=1` }),
  ];
}

/** Every place where a client can write the name of an attribute behind a relation to the dataclass. */
export function placesBehind(
  dataclass: string,
  relation: string,
): readonly ((name: string) => Probe)[] {
  const gets: readonly ((name: string) => string)[] = [
    (name) => `?$filter=${relation}.${name}=1`,
    (name) => `?$orderby=${relation}.${name}`,
    (name) => `?$orderby=${relation}.${name}&$cursor=true`,
    (name) => `?$attributes=${relation}.${name}`,
    (name) => `?$expand=${relation}.${name}`,
    (name) => `?$expand=${relation}($filter="${name}=1")`,
    (name) => `?$expand=${relation}($orderby=${name};$top=1)`,
    (name) => `?$expand=${relation}($attributes=${name})`,
    (name) => `?$expand=${relation}($expand=${name})`,
    (name) => `?$format=looker&$attributes=${relation}.${name}`,
    (name) => `/${relation}.${name}?$distinct=true`,
    (name) => `/${relation}.${name}?$compute=count`,
    (name) => `?$groupby=${relation}.${name}`,
    (name) => `?$groupby=__KEY&$compute=max(${relation}.${name})`,
    (name) => `?$groupby=__KEY&$having=max(${relation}.${name})=1`,
  ];
  return gets.map((rest) => (name) => ({ method: 'GET', url: `/rest/${dataclass}${rest(name)}` }));
}

/** Requests that are correct, or nearly so, and whose answers contain much. */
export function wideReads(
  dataclass: string,
  key: string,
  names: readonly string[],
): readonly Probe[] {
  const list = names.join(',');
  return [
    `/rest/${dataclass}`,
    `/rest/${dataclass}(${key})`,
    `/rest/${dataclass}?$expand=${list}`,
    `/rest/${dataclass}?$attributes=${names.map((each) => `${each}.*`).join(',')}`,
    `/rest/${dataclass}?$format=looker`,
    `/rest/${dataclass}?$method=entityset`,
    `/rest/${dataclass}?$filter=ID!=null&$queryplan=true&$querypath=true`,
    `/rest/$catalog/${dataclass}`,
    '/rest/$catalog/$all',
  ].map((url) => ({ method: 'GET', url }));
}

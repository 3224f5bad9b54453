/**
 * The effect of a save, without SQL: an independent evaluation of the rules of
 * `protocol.md#writing`.
 */

export const model = `
drs: 1
name: saves
dataclasses:
  Group:
    attributes:
      code: { type: string, key: true }
  Member:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: { type: string, unique: true }
      note: { type: string, indexed: true, maxLength: 5 }
      rank: { type: integer, mandatory: true, default: 3, min: 0, max: 9 }
      data: object
      fixed: { type: integer, readOnly: true, default: 5 }
      group: { to: Group }
      peer: { to: Member }
      label: { computed: string, expression: "coalesce(note, '-') || rank" }
`;

export const groups = ['g1', 'g2'];

export interface Member {
  readonly key: number;
  readonly stamp: number;
  readonly timestamp: string;
  readonly name: string | null;
  readonly note: string | null;
  readonly rank: number;
  readonly data: unknown;
  readonly fixed: number;
  readonly group: string | null;
  readonly peer: number | null;
}

export type Members = ReadonlyMap<number, Member>;
export type Body = Readonly<Record<string, unknown>>;

export type Outcome =
  | { readonly kind: 'created' | 'changed' | 'unchanged'; readonly member: Member }
  | {
      readonly kind: 'refused';
      readonly codes: readonly number[];
      readonly http: number;
      readonly status: number;
      readonly existing: number | undefined;
    };

const invalid = Symbol('invalid');

/** The result of one body, and of its members. */
export function save(
  members: Map<number, Member>,
  body: Body,
  now: string,
  keepsStamp: boolean,
): Outcome {
  const { __KEY: sentKey, __STAMP: sentStamp } = body;
  const key = Number(sentKey);
  if (sentStamp === undefined) {
    return sentKey !== undefined && members.has(key)
      ? refusal([1263, 1046, 1517], 409, 2, key)
      : create(members, body, now);
  }
  if (sentKey === undefined) return refusal([1542], 404, 4);
  const before = members.get(key);
  if (before === undefined) return refusal([1542], 404, 5);
  if (before.stamp !== Number(sentStamp)) return refusal([1263, 1046, 1517], 409, 2, key);
  const { values, codes } = decoded(body, key);
  if ('fixed' in body && body['fixed'] !== 5) codes.readOnly.push(1569);
  const refused = faults(members, codes, values, key);
  if (refused !== undefined) return refused;
  const after = { ...before, ...values };
  if (JSON.stringify(after) === JSON.stringify(before))
    return { kind: 'unchanged', member: before };
  const member = keepsStamp ? after : { ...after, stamp: before.stamp + 1, timestamp: now };
  members.set(key, member);
  return { kind: 'changed', member };
}

interface Codes {
  readonly body: number[];
  readonly readOnly: number[];
}

type Values = { -readonly [Name in keyof Member]?: Member[Name] };

function create(members: Map<number, Member>, body: Body, now: string): Outcome {
  const { values, codes } = decoded(body, undefined);
  if ('fixed' in body && body['fixed'] !== 5 && body['fixed'] !== null) codes.body.push(1569);
  const drawn = Math.max(0, ...members.keys()) + 1;
  const given = Number(body['__KEY'] ?? body['ID'] ?? Number.NaN);
  if (body['__KEY'] !== undefined && 'ID' in body && body['ID'] !== body['__KEY']) {
    codes.body.push(1569);
  }
  const key = Number.isNaN(given) ? undefined : given;
  const refused = faults(members, codes, values, undefined, key);
  if (refused !== undefined) return refused;
  const member: Member = {
    key: key ?? drawn,
    stamp: 1,
    timestamp: now,
    name: null,
    note: null,
    rank: 3,
    data: null,
    fixed: 5,
    group: null,
    peer: null,
    ...values,
  };
  members.set(member.key, member);
  return { kind: 'created', member };
}

/** @param key of the entity that is changed */
function decoded(body: Body, key: number | undefined): { values: Values; codes: Codes } {
  const values: Values = {};
  const codes: Codes = { body: [], readOnly: [] };
  const set = <Name extends keyof Member>(
    name: Name,
    value: Member[Name] | typeof invalid,
  ): void => {
    if (value === invalid) codes.body.push(1569);
    else values[name] = value;
  };
  for (const [name, json] of Object.entries(body)) {
    if (name === 'ID' && key !== undefined && json !== key) codes.body.push(1569);
    if (name === 'nothing') codes.body.push(1500);
    if (name === 'name') set('name', text(json));
    if (name === 'note')
      set('note', typeof json === 'string' && json.length > 5 ? invalid : text(json));
    if (name === 'rank') set('rank', rank(json));
    if (name === 'data') set('data', typeof json === 'object' ? json : invalid);
    if (name === 'group') set('group', relatedKey(json) as string | null);
    if (name === 'peer') set('peer', relatedKey(json) as number | null);
  }
  return { values, codes };
}

function text(json: unknown): string | null | typeof invalid {
  return json === null || typeof json === 'string' ? json : invalid;
}

function rank(json: unknown): number | typeof invalid {
  const value = json === null ? Number.NaN : Number(json);
  return value >= 0 && value <= 9 ? value : invalid;
}

function relatedKey(json: unknown): unknown {
  return typeof json === 'object' && json !== null ? (json as { __KEY: unknown }).__KEY : json;
}

/** @param own the key that a new entity asks for */
function faults(
  members: Members,
  codes: Codes,
  values: Values,
  existing: number | undefined,
  own?: number,
): Outcome | undefined {
  const found: number[] = [];
  const { group = null, peer = null, name = null } = values;
  if (group !== null) {
    const stored = groups.find((code) => code === group.toLowerCase());
    if (stored === undefined) found.push(1542);
    else values.group = stored;
  }
  if (peer !== null && !members.has(peer) && peer !== own) found.push(1542);
  const isMissing = found.length > 0;
  if (own !== undefined && members.has(own)) found.push(1569);
  const others = [...members.values()].filter(({ key }) => key !== existing);
  if (name !== null && others.some((each) => each.name?.toLowerCase() === name.toLowerCase())) {
    found.push(1569);
  }
  const ofBody = [...codes.body, ...codes.readOnly];
  const all = [...ofBody, ...found];
  if (all.length === 0) return undefined;
  const isInvalid = ofBody.length > 0;
  const http = isInvalid ? (ofBody.includes(1500) ? 400 : 422) : isMissing ? 422 : 409;
  const summary = [isInvalid ? 1570 : 1046, existing === undefined ? 1534 : 1517];
  return refusal([...all, ...summary], http, isInvalid ? 8 : 4, existing);
}

function refusal(
  codes: readonly number[],
  http: number,
  status: number,
  existing?: number,
): Outcome {
  return { kind: 'refused', codes, http, status, existing };
}

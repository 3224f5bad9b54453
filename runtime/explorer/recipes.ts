import { columnsOf } from './columns.js';
import type { ExplorerDataclass, ExplorerModel } from './model.js';
import type { Place } from './place.js';
import { pageSize, type SentRequest } from './server.js';

/** A request as a command for a shell: the cookie of a login is read from a file, as `access.md` describes it. */
export function curlLine({ method, url, body }: SentRequest, hasLogin: boolean): string {
  return [
    'curl',
    ...(method === 'GET' ? [] : ['-X', method]),
    ...(hasLogin ? ['-b', 'cookies'] : []),
    inShell(url),
    ...(body === undefined ? [] : ['-d', inShell(body)]),
  ].join(' ');
}

/** A text as one word, whatever it holds. */
function inShell(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** What a place shows, as a program reads it by the typed client. */
export function clientLine(
  model: ExplorerModel,
  dataclass: ExplorerDataclass,
  { filter, order, columns, of, set, entity }: Place,
): string {
  if (entity !== undefined) return `await ${entityText(dataclass, entity)}`;
  // No method of a client takes the ID of an entity set: a program keeps the selection.
  if (set !== undefined) return `await ${read('set')}`;
  const owner = model.dataclasses.get(of?.dataclass ?? '');
  const source =
    of === undefined || owner === undefined
      ? `${member('ds', dataclass.name)}.all()`
      : member(`(await ${entityText(owner, of.key)})`, of.relation);
  return `await ${read(source)}`;

  function read(from: string): string {
    const paths = columnsOf(model, dataclass, columns).map(({ path }) => literal(path));
    const steps = [
      from,
      ...(filter === '' ? [] : [`query(${literal(filter)})`]),
      ...(order === '' ? [] : [`orderBy(${literal(order)})`]),
      `select(${paths.join(', ')})`,
      `slice(0, ${pageSize})`,
    ];
    return steps.join('.');
  }
}

function entityText({ name, key, attributes }: ExplorerDataclass, value: string): string {
  const kind = attributes.find((each) => each.name === key)?.kind;
  return `${member('ds', name)}.get(${kind === 'number' ? value : literal(value)})`;
}

function member(owner: string, name: string): string {
  return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(name)
    ? `${owner}.${name}`
    : `${owner}[${literal(name)}]`;
}

function literal(text: string): string {
  return `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}

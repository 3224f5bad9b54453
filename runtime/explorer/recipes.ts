import { columnsOf } from './columns.js';
import { textsOf } from './group-terms.js';
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
  { filter, order, columns, of, set, groups, entity }: Place,
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
    const chosen = filter === '' ? from : `${from}.query(${literal(filter)})`;
    if (groups !== undefined) {
      const [keys, terms] = [groups.keys, groups.terms].map((list) =>
        literals(textsOf(model, dataclass, list)),
      );
      const options = groups.order === '' ? '' : `, { orderBy: ${literal(groups.order)} }`;
      return `${chosen}.groupBy([${keys}], [${terms}]${options})`;
    }
    const ordered = order === '' ? chosen : `${chosen}.orderBy(${literal(order)})`;
    const paths = columnsOf(model, dataclass, columns).map(({ path }) => path);
    return `${ordered}.select(${literals(paths)}).slice(0, ${pageSize})`;
  }
}

function entityText({ name, key, attributes }: ExplorerDataclass, value: string): string {
  const kind = attributes.find((each) => each.name === key)?.kind;
  const isNumber = kind === 'number' && Number.isFinite(Number(value));
  return `${member('ds', name)}.get(${isNumber ? Number(value) : literal(value)})`;
}

function member(owner: string, name: string): string {
  return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(name)
    ? `${owner}.${name}`
    : `${owner}[${literal(name)}]`;
}

function literals(texts: readonly string[]): string {
  return texts.map(literal).join(', ');
}

function literal(text: string): string {
  return `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}

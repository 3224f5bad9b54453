import { Connection, type RestLogin } from './connection.js';
import { ImportStop, type Notes } from './messages.js';
import type { Project } from './project.js';
import { objectOf } from './roles.js';
import { type Content, isTrue, listOf, readDataclasses, textOf } from './wakanda.js';

/** The products whose servers speak the protocol. */
export type Product = '4d' | 'qodly' | 'wakanda';

interface ServedOptions {
  readonly login: RestLogin;
  /** Told by the catalog if it is not said. */
  readonly product: Product | undefined;
}

/** More than the catalog of any known project has, and few enough to be read in a moment. */
const mostParts = 100_000;

/** Reads the model of a running server from its catalog, which lists what is exposed. */
export async function readServed(
  address: string,
  { login, product }: ServedOptions,
  notes: Notes,
): Promise<Project> {
  const connection = await Connection.open(address, login, { seconds: 60, mebibytes: 64 });
  const root = catalogOf(await connection.json('$catalog/$all'), connection.shown);
  const isWakanda = product === undefined ? isOfWakanda(root) : product === 'wakanda';
  const content = readDataclasses(asModelFile(root), '$catalog', notes);
  return {
    model: {
      kind: 'server',
      names: [textOf(root, '__NAME') ?? '', connection.host],
      protocol: isWakanda
        ? { compatibility: 'wakanda' }
        : { dateOnlyFormat: 'bang', accentInsensitive: true, wildcard: true },
      ...content,
      remarks: [remarkOf(isWakanda, product)],
    },
    oldCode: new Map(),
    shown: connection.shown,
  };
}

function catalogOf(value: unknown, shown: string): Content {
  const root = objectOf(value);
  const dataclasses = root?.['dataClasses'];
  if (root === undefined || !Array.isArray(dataclasses)) {
    throw new ImportStop('import/unreadable', shown, 'its catalog lists no dataClasses');
  }
  if (dataclasses.length === 0) {
    const reason = 'its catalog lists no dataclass; log in with --user, --authentify or --cookie';
    throw new ImportStop('import/empty', shown, reason);
  }
  const parts = [root, ...listOf(root['singletons']), ...listOf(dataclasses)].reduce(
    (sum, each) => sum + 1 + lengthOf(each['attributes']) + lengthOf(each['methods']),
    0,
  );
  if (parts > mostParts) {
    const reason = `its catalog lists more than ${String(mostParts)} attributes and functions`;
    throw new ImportStop('import/unreadable', shown, reason);
  }
  return root;
}

function lengthOf(value: unknown): number {
  return Array.isArray(value) ? value.length : 0;
}

/** Wakanda has no foreign keys, and lets its users name collections. */
function isOfWakanda(root: Content): boolean {
  const dataclasses = listOf(root['dataClasses']);
  const attributes = dataclasses.flatMap((each) => listOf(each['attributes']));
  const methods = dataclasses.flatMap((each) => listOf(each['methods']));
  if (methods.some((each) => textOf(each, 'applyTo') === 'entityCollection')) return true;
  const isNewer = attributes.some((each) => 'foreignKey' in each || 'exposed' in each);
  return (
    !isNewer &&
    dataclasses.some((each) => {
      const collection = textOf(each, 'collectionName') ?? '';
      return collection !== '' && collection !== `${textOf(each, 'name') ?? ''}Selection`;
    })
  );
}

function remarkOf(isWakanda: boolean, product: Product | undefined): string {
  const taken = isWakanda ? 'Wakanda' : '4D or Qodly';
  const said =
    product === undefined
      ? `The catalog looks like one of ${taken}, and \`protocol\` of the model is what its clients expect. Change it in the model if that is wrong; \`--from\` says what the server is.\n\n`
      : '';
  return `## What a catalog does not tell\n\n${said}A catalog lists what is exposed to the session that asked. What is hidden, roles, events, rules of deletions, types of parameters and code are missing. Keys of the type uuid are drawn by the new server if a client sends none.`;
}

/** A catalog in the words of a model file. All that it lists is public. */
function asModelFile(root: Content): Content {
  const methods = (owner: Content): Content => ({
    ...owner,
    methods: listOf(owner['methods']).map(methodOf),
  });
  return methods({
    ...root,
    singletons: listOf(root['singletons']).map(methods),
    dataClasses: listOf(root['dataClasses']).map((each) =>
      methods({
        ...each,
        className: textOf(each, 'className') ?? textOf(each, 'name') ?? '',
        scope: 'public',
        attributes: listOf(each['attributes']).map(attributeOf),
      }),
    ),
  });
}

function methodOf(method: Content): Content {
  const applyTo = textOf(method, 'applyTo') ?? '';
  return {
    ...method,
    scope: 'public',
    applyTo: /selection$/i.test(applyTo) ? 'entityCollection' : applyTo,
  };
}

function attributeOf(attribute: Content): Content {
  const open = { ...attribute, scope: 'public' };
  const kind = textOf(attribute, 'kind');
  if (kind === 'storage') return { ...open, ...storageWords(attribute) };
  if (kind === 'calculated' && !isTrue(attribute, 'readOnly')) return { ...open, onSet: true };
  if (kind !== 'relatedEntities') return open;
  const inverse = textOf(attribute, 'inverseName');
  return {
    ...open,
    path: textOf(attribute, 'path') ?? inverse,
    reversePath: attribute['reversePath'] ?? inverse !== undefined,
  };
}

function storageWords(attribute: Content): Content {
  const isVector = textOf(attribute, 'classID') === '4D.Vector';
  const isDecimal = 'precision' in attribute && 'scale' in attribute;
  const isKey = isTrue(attribute, 'identifying');
  const values = attribute['enum'];
  return {
    ...(isVector ? { type: 'vector' } : isDecimal ? { type: 'decimal' } : {}),
    // A key that a client sends stays as it is.
    ...(isKey && textOf(attribute, 'type') === 'uuid' ? { autogenerate: true } : {}),
    ...(Array.isArray(values) ? { enumeration: values.map((value: unknown) => ({ value })) } : {}),
    ...('min' in attribute ? { minValue: attribute['min'] } : {}),
    ...('max' in attribute ? { maxValue: attribute['max'] } : {}),
  };
}

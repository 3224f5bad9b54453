import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { usualWords } from '../../generator/emit/views/settings.js';
import type { LoginModule } from '../../runtime/access/login-module.js';
import { errorCodes } from '../../runtime/protocol/errors.js';
import { limitVariables, type Setting, settings } from '../../runtime/protocol/settings-table.js';
import { exampleFiles } from '../support/example-files.js';
import { modelOf, packageRoot, serverOf } from '../support/server.js';
import { commandOf, Tour } from '../support/tour.js';
import { blocksOf, documents, placeOf, readDocument, shown, type Block } from './guides.js';

const example = join(packageRoot, 'examples/staff');

/** The users that `npm run example` creates. */
const login: LoginModule = {
  login: (user, password) => {
    const granted = { mia: { roles: ['HR'] }, tom: { privileges: ['viewStaff'] } }[user];
    if (granted === undefined || password !== 'example') return null;
    return { userName: user, ...granted };
  },
};

/** Starts the server of a model, which is that of the example with some lines more. */
async function startTour(more: string): Promise<Tour> {
  const model = modelOf(`${readFileSync(join(example, 'model.yaml'), 'utf8')}${more}`);
  const app = await serverOf(model, { login }, exampleFiles('staff'));
  const tour = new Tour(app);
  await tour.ask({
    url: '/rest/$directory/login',
    body: '["mia","example"]',
    jar: 'mia',
    savesJar: true,
  });
  const data = JSON.parse(readFileSync(join(example, 'data.json'), 'utf8')) as Readonly<
    Record<string, readonly object[]>
  >;
  for (const [dataclass, entities] of Object.entries(data)) {
    await store(tour, dataclass, entities);
  }
  return tour;
}

async function store(tour: Tour, dataclass: string, entities: readonly object[]): Promise<void> {
  const url = `/rest/${dataclass}?$method=update&$atomic=true`;
  const answer = await tour.ask({
    url,
    body: JSON.stringify(entities),
    jar: 'mia',
    savesJar: false,
  });
  expect(answer).not.toContain('__ERROR');
}

const tours: Tour[] = [];
afterAll(() => Promise.all(tours.map((tour) => tour.close())));

/** What the words of a block add to the model of its server. */
const models: Readonly<Record<string, string>> = {
  '': '',
  wakanda: 'protocol: { compatibility: wakanda }\n',
};

/** The requests of a document to a server, in their order, each with the answer that it shows. */
function requestsOf(
  path: string,
  server: string,
): readonly (readonly [place: string, line: string, answer: string])[] {
  return blocksOf('console', path)
    .filter(({ text, words }) => text.startsWith('$ curl') && words.join(' ') === server)
    .flatMap(requestsIn);
}

function requestsIn(block: Block): readonly (readonly [string, string, string])[] {
  return block.text
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [line = '', ...answer] = part.trimEnd().split('\n');
      return [placeOf(block), line, answer.join('\n')];
    });
}

/** The ID of the entity set or of the upload in an answer, for which `<id>` stands in later requests. */
function idIn(answer: string): string | undefined {
  return /(?:\$entityset\/|^\{"ID":")([0-9A-F]{32})"/.exec(answer)?.[1];
}

describe('A request in a guide', () => {
  const withRequests = documents.filter((path) => requestsOf(path, '').length > 0);
  const servers = [
    ...withRequests.map((path) => [path, ''] as const),
    ['runtime/docs/protocol.md', 'wakanda'] as const,
  ];

  it.each(servers)('has the answer that is printed below it: %s %s', async (path, server) => {
    const tour = await startTour(models[server] ?? '');
    tours.push(tour);
    let id = '';
    for (const [place, line, answer] of requestsOf(path, server)) {
      const found = (await tour.ask(commandOf(line.replace('<id>', id)))).trimEnd();
      expect(found, `${place}: ${line}`).toMatch(shown(answer));
      id = idIn(found) ?? id;
    }
  });

  it('exists in the README and in the guides of the protocol and of filters', () => {
    expect(withRequests).toEqual(
      expect.arrayContaining(['README.md', 'runtime/docs/filters.md', 'runtime/docs/protocol.md']),
    );
  });
});

it('The guide of the protocol lists every error with its status', () => {
  const [, table = ''] =
    /<!-- errors -->([\s\S]*)<!-- \/errors -->/.exec(readDocument('runtime/docs/protocol.md')) ??
    [];
  const rows = [...table.matchAll(/^\| (\d+) \| (\d+) \|/gm)].map(([, code, status]) => ({
    code: Number(code),
    status: Number(status),
  }));
  expect(rows).toEqual(Object.values(errorCodes).toSorted((a, b) => a.code - b.code));
});

it('The quotas in the guide are accepted by a server', async () => {
  const [quotas = ''] = blocksOf('sh', 'runtime/docs/access.md')
    .map(({ text }) => /QUOTAS='(.*)'/.exec(text)?.[1])
    .filter((text) => text !== undefined);
  expect(quotas).toContain('PerSession');
  const model = modelOf(readFileSync(join(example, 'model.yaml'), 'utf8'));
  const app = await serverOf(model, { login, environment: { QUOTAS: quotas } });
  await app.close();
  const misspelt = { QUOTAS: quotas.replace('nbRequests', 'nbRequest') };
  await expect(serverOf(model, { login, environment: misspelt })).rejects.toThrow('QUOTAS');
});

/** The names and defaults in the table of settings; a row may hold several. */
function settingsOfGuide(): readonly (readonly [string | undefined, string | undefined])[] {
  const [, table = ''] = readDocument('runtime/docs/operations.md').split('\n## ');
  return [...table.matchAll(/^\| (`.*?`) \| (.*?) \|/gm)].flatMap(([, first = '', usual = '']) => {
    const names = [...first.matchAll(/[A-Z_]+/g)].map(([name]) => name);
    const each = usual.split(', ');
    return names.map(
      (name, index) => [name, names.length === each.length ? each[index] : usual] as const,
    );
  });
}

it('The guide of operations lists the settings of servers, with their defaults', () => {
  const ofTests = ['TEST_DATABASE_URL', 'ACCESS_REQUESTS'];
  const inGuide = settingsOfGuide().filter(([name = '']) => !ofTests.includes(name));
  const inTable = Object.entries<Setting>(settings)
    .filter(([, { limit }]) => limit === undefined)
    .map(([name, setting]) => [name, usualWords(setting)]);
  expect(Object.fromEntries(inGuide)).toEqual(Object.fromEntries(inTable));
  const guide = readDocument('runtime/docs/operations.md');
  expect(limitVariables.filter((variable) => !guide.includes(`\`${variable}\``))).toEqual([]);
});

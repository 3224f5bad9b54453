import type { Model } from '../../model/model.js';
import { hasJobs, hasMedia } from '../classes/class-code.js';
import { userClasses } from '../classes/user-classes.js';
import type { EmitContext } from '../context.js';
import { type DatabaseTexts, databaseTexts } from './database-texts.js';
import { exampleLine, limitSettings, settingRow, settingsOf } from './settings.js';

/** The dependencies and scripts of a server. */
export function packageView({ model }: EmitContext): object {
  const texts = textsOf(model);
  return {
    packageName: model.name.toLowerCase(),
    hasUsers: model.roles !== undefined,
    hasJobs: hasJobs(model),
    dependencies: listed([
      ...texts.flatMap(({ packages }) => packages(model)),
      '"@fastify/under-pressure": "^9.2.0"',
      // The parser of npm run seed.
      '"csv-parse": "^7.0.3"',
      '"fastify": "^5.12.8"',
      '"fastify-plugin": "^6.0.0"',
      '"kysely": "^0.28.18 || ^0.29.9"',
      '"pino": "^10.1.0"',
      // Loaded if METRICS_PORT is set.
      '"prom-client": "^15.1.3"',
      ...(model.roles === undefined ? [] : ['"jose": "^6.2.0"']),
      // The parser of forms with files.
      ...(hasMedia(model) ? ['"@fastify/busboy": "^3.2.6"'] : []),
    ]),
    developmentDependencies: listed([
      ...texts.flatMap(({ typePackages }) => typePackages),
      '"@types/node": "^20.19.0"',
      '"tsx": "^4.23.15"',
      '"typescript": "~5.9.3"',
    ]),
  };
}

export function readmeView({ model, modelFileName, classNames }: EmitContext): object {
  const texts = textsOf(model);
  return {
    name: model.name,
    description: model.description === undefined ? [] : [model.description.trim()],
    modelFile: modelFileName,
    packageName: model.name.toLowerCase(),
    dockerRun: dockerRun(model),
    classes:
      userClasses(model, classNames).length > 0
        ? ['| `src/classes/` | yours; drs-gen adds new members of the model, and removes nothing |']
        : [],
    jobFiles: hasJobs(model)
      ? ['| `src/jobs/` | yours; drs-gen writes a stub for each new job, and changes nothing |']
      : [],
    jobs: hasJobs(model) ? jobNote : [],
    settings: settingsOf(model).map(settingRow),
    limits: limitSettings.map(([name, { meaning }]) => `| \`${name}\` | ${meaning} |`),
    login: model.roles === undefined ? [] : loginText(texts),
    withoutSqlite: model.databases.includes('sqlite') ? [] : withoutSqlite,
    notes: texts.flatMap(({ notes }) => notes),
  };
}

/** How to create the first user and log in. */
function loginText(texts: readonly DatabaseTexts[]): readonly string[] {
  const places =
    texts.length === 1
      ? texts.map(({ users }) => users)
      : texts.map(({ name, users }) => `with ${name} in ${users}`);
  return [
    `Users are stored ${texts.length === 1 ? 'in ' : ''}${places.join('; ')}. The first command adds one, and asks for the password;`,
    '`npm run users` without arguments lists the others: `list`, `remove`, `disable`, `enable`, `roles`, `password` and `logout`.',
    '',
    '```sh',
    'npm run users -- add mia --role <role> --privilege <privilege>',
    'curl -c cookies \'http://127.0.0.1:8080/rest/$directory/login\' -d \'["mia", "<password>"]\'',
    "curl -b cookies 'http://127.0.0.1:8080/rest/$directory/currentUser'",
    '```',
    '',
    '`src/login.ts` decides who may log in and which privileges they get; it is yours to change. The server accepts bearer tokens if it',
    'exports `loginWithToken` and the environment holds `TOKEN_KEY` (a secret or a public key) or `TOKEN_KEYS_URL` (a JSON Web Key Set).',
    '`TOKEN_ISSUER` and `TOKEN_AUDIENCE` are compared with the claims.',
    '',
  ];
}

const jobNote = [
  '`npm run jobs` lists the jobs that wait, run, or have failed for good; `npm run jobs -- --help` shows how to repeat and delete them.',
  '',
];

/** The needs of a server without SQLite. */
const withoutSqlite = [
  'Several processes (`PROCESSES`) share their state in SQLite files: run `npm install better-sqlite3` if you use them.',
  '',
  '`npm test` needs PostgreSQL: `TEST_DATABASE_URL` names a database in which the tests may create schemas. Each test creates one of',
  'its own and removes it; nothing else there is changed.',
  '',
];

export function environmentView({ model }: EmitContext): object {
  return {
    settings: settingsOf(model).map(exampleLine),
    limits: limitSettings.map(exampleLine),
  };
}

/** How the image of {@link dockerView} is run. */
function dockerRun(model: Model): string {
  const image = model.name.toLowerCase();
  const database =
    model.databases[0] === 'sqlite' ? `-v ${image}-data:/data` : '-e DATABASE_URL=postgres://…';
  return `docker run -p 8080:8080 ${database} ${image}`;
}

/** A database file is stored on a volume. */
export function dockerView({ model }: EmitContext): object {
  const isInFile = model.databases.includes('sqlite');
  return {
    environment: model.databases[0] === 'sqlite' ? ' DATABASE_URL=sqlite:/data/data.sqlite' : '',
    folder: isInFile ? ['RUN mkdir /data && chown node:node /data'] : [],
    volume: isInFile ? ['VOLUME /data'] : [],
  };
}

function textsOf({ databases }: Model): readonly DatabaseTexts[] {
  return databases.map((each) => databaseTexts[each]);
}

/** Members of a JSON object in the order in which npm writes them, with commas between. */
function listed(members: readonly string[]): readonly string[] {
  const sorted = [...members].sort();
  return sorted.map((each, index) => (index < sorted.length - 1 ? `${each},` : each));
}

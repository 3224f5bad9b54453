import type { Limits, Model } from '../../model/model.js';
import { userClasses } from '../classes/user-classes.js';
import type { EmitContext } from '../context.js';
import { declaration } from '../layout.js';
import { rolesLiteral } from './access.js';
import { isLarge } from '../../model/columns.js';

/** A limit that the server of this version keeps: its name in the environment and what it limits. */
interface ServedLimit {
  readonly limit: keyof Limits;
  readonly variable: string;
  readonly meaning: string;
}

const servedLimits: readonly ServedLimit[] = [
  { limit: 'pageSize', variable: 'PAGE_SIZE', meaning: 'entities in an answer without `$top`' },
  { limit: 'maxPageSize', variable: 'MAX_PAGE_SIZE', meaning: 'largest `$top`' },
  { limit: 'bodySize', variable: 'BODY_SIZE', meaning: 'bytes of a request body' },
  { limit: 'filterLength', variable: 'FILTER_LENGTH', meaning: 'characters of a `$filter`' },
  { limit: 'filterDepth', variable: 'FILTER_DEPTH', meaning: 'nested parentheses of a `$filter`' },
  {
    limit: 'expandDepth',
    variable: 'EXPAND_DEPTH',
    meaning: 'nested relations of `$attributes` and `$expand`',
  },
  { limit: 'batchSize', variable: 'BATCH_SIZE', meaning: 'entities in one body' },
  {
    limit: 'queryTimeout',
    variable: 'QUERY_TIMEOUT',
    meaning: 'milliseconds that a statement of the database may run',
  },
  {
    limit: 'entitySetTimeout',
    variable: 'ENTITY_SET_TIMEOUT',
    meaning: 'seconds that an entity set is kept after its last use',
  },
  {
    limit: 'recreatedEntitySetTimeout',
    variable: 'RECREATED_ENTITY_SET_TIMEOUT',
    meaning: 'the same for an entity set that was made again',
  },
  {
    limit: 'maxEntitySetTimeout',
    variable: 'MAX_ENTITY_SET_TIMEOUT',
    meaning: 'longest `$timeout` of an entity set',
  },
  {
    limit: 'entitySetMemory',
    variable: 'ENTITY_SET_MEMORY',
    meaning: 'bytes of all entity sets',
  },
  {
    limit: 'maxEntitySetsPerSession',
    variable: 'MAX_ENTITY_SETS_PER_SESSION',
    meaning: 'entity sets of one session',
  },
  {
    limit: 'sessionIdleTimeout',
    variable: 'SESSION_IDLE_TIMEOUT',
    meaning: 'seconds after which an unused session ends',
  },
  { limit: 'maxSessions', variable: 'MAX_SESSIONS', meaning: 'sessions of users' },
  {
    limit: 'maxGuestSessions',
    variable: 'MAX_GUEST_SESSIONS',
    meaning: 'sessions of guests with locks, uploads or other state',
  },
  {
    limit: 'maxLocksPerSession',
    variable: 'MAX_LOCKS_PER_SESSION',
    meaning: 'entities that one session locks',
  },
  { limit: 'uploadSize', variable: 'UPLOAD_SIZE', meaning: 'bytes of an uploaded file' },
  {
    limit: 'uploadSpace',
    variable: 'UPLOAD_SPACE',
    meaning: 'bytes of all uploaded files that wait for their entities',
  },
  {
    limit: 'uploadTimeout',
    variable: 'UPLOAD_TIMEOUT',
    meaning: 'seconds that an uploaded file waits for its entities',
  },
];

export function settingsView(context: EmitContext): object {
  const { model } = context;
  const limits = Object.fromEntries(servedLimits.map(({ limit }) => [limit, model.limits[limit]]));
  return {
    header: context.header,
    declaration: declaration('export const settings: Settings', {
      name: model.name,
      limits,
      dateOnlyFormat: model.protocol.dateOnlyFormat,
      reportFormat: model.reportFormat,
      accentInsensitive: model.protocol.accentInsensitive,
      wildcard: model.protocol.wildcard,
      isOpen: model.roles === undefined,
      roles: rolesLiteral(model.roles),
    }),
  };
}

function hasVectors({ dataclasses }: Model): boolean {
  return dataclasses.some(({ attributes }) =>
    attributes.some((each) => each.kind === 'storage' && each.type === 'vector'),
  );
}

function hasMedia({ dataclasses }: Model): boolean {
  return dataclasses.some(({ attributes }) =>
    attributes.some((each) => each.kind === 'storage' && isLarge(each.type)),
  );
}

/** Vectors are compared by an extension of SQLite, and forms with files read by a parser: packages of their own. */
export function packageView({ model }: EmitContext): object {
  return {
    packageName: model.name.toLowerCase(),
    furtherDependencies: [
      ...(hasVectors(model) ? ['"sqlite-vec": "^0.1.9"'] : []),
      ...(model.roles === undefined ? [] : ['"jose": "^6.2.0"']),
      ...(hasMedia(model) ? ['"@fastify/busboy": "^3.2.6"'] : []),
    ],
  };
}

export function readmeView({ model, modelFileName, classNames }: EmitContext): object {
  return {
    name: model.name,
    description: model.description === undefined ? [] : [model.description.trim()],
    modelFile: modelFileName,
    classes:
      userClasses(model, classNames).length > 0
        ? ['| `src/classes/` | yours; what the model gets is added, and nothing is taken away |']
        : [],
    limits: servedLimits.map(({ variable, meaning }) => `| \`${variable}\` | ${meaning} |`),
    login: model.roles === undefined ? [] : loginText,
  };
}

/** How somebody can log in for the first time. */
const loginText = [
  'Users are kept in `users.sqlite` beside the database, or where `USERS_DATABASE` says. This makes one, and asks for the password:',
  '',
  '```sh',
  'node dist/src/create-user.js mia --role <role> --privilege <privilege>',
  'curl -c cookies \'http://127.0.0.1:8080/rest/$directory/login\' -d \'["mia", "<password>"]\'',
  "curl -b cookies 'http://127.0.0.1:8080/rest/$directory/currentUser'",
  '```',
  '',
  '`src/login.ts` tells who may log in and what they may do then; it is yours to change. Bearer tokens are taken when it exports',
  '`loginWithToken` and the environment holds `TOKEN_KEY` (a secret or a public key) or `TOKEN_KEYS_URL` (a JSON Web Key Set);',
  '`TOKEN_ISSUER` and `TOKEN_AUDIENCE` are compared with their claims.',
  '',
];

export function environmentView(): object {
  return { limits: servedLimits.map(({ variable, meaning }) => `# ${variable}= (${meaning})`) };
}

/** Of a file of ours that is the same for every model. */
export function headerView({ header }: EmitContext): object {
  return { header };
}

export function emptyView(): object {
  return {};
}

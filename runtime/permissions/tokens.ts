import { createPublicKey, createSecretKey, hash, type KeyObject } from 'node:crypto';
import { protocolError, refuseBusy, RequestError } from '../protocol/errors.js';
import type {
  BearerTokens,
  LoginModule,
  TokenClaims,
  TokenGrant,
  TokenSettings,
} from '../access/login-module.js';

type KeySet = (header: object, token: object) => Promise<unknown>;

/** The keys of an address, which are fetched when they are needed, and again when they are old. */
interface RemoteKeys extends KeySet {
  /** The keys that were fetched last; `undefined` before. */
  jwks(): object | undefined;
}

/** The log of a server, which names the reasons of refusals. */
export interface TokenLog {
  debug(what: object, message: string): void;
  warn(what: object, message: string): void;
}

/** The part of the package jose that is used. */
interface Jose {
  jwtVerify(
    token: string,
    key: KeyObject | KeySet,
    options: object,
  ): Promise<{ readonly payload: TokenClaims & { readonly exp?: number } }>;
  createRemoteJWKSet(url: URL): RemoteKeys;
  createLocalJWKSet(keys: object): KeySet;
}

/** The name of the package, in a variable: so servers without users compile without it. */
const packageName = 'jose';
/** Longer tokens are refused unverified. */
const longestToken = 8192;
const shortestSecret = 32;
/** Seconds by which the clock of the identity provider may differ. */
const tolerance = 30;
/** Seconds after which keys that could not be fetched are fetched again. */
const retryAfter = 5;

const symmetric = ['HS256', 'HS384', 'HS512'];
const asymmetric = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
];

/**
 * Verifies bearer tokens (JSON Web Tokens with a signature and an expiry), and asks the user's code
 * what they grant.
 */
export class Tokens implements BearerTokens {
  readonly #jose: Jose;
  readonly #key: KeyObject | KeySet;
  readonly #options: object;

  private constructor(
    jose: Jose,
    settings: TokenSettings,
    private readonly loginWithToken: NonNullable<LoginModule['loginWithToken']>,
    private readonly log: TokenLog,
  ) {
    const { key, keysUrl, issuer, audience } = settings;
    const known = key === '' ? undefined : keyOf(key);
    this.#jose = jose;
    this.#key = known ?? lastingKeys(jose, new URL(keysUrl), log);
    this.#options = {
      // A public key must never be taken for a secret.
      algorithms: known?.type === 'secret' ? symmetric : asymmetric,
      requiredClaims: ['exp'],
      clockTolerance: tolerance,
      ...(issuer === '' ? {} : { issuer }),
      ...(audience === '' ? {} : { audience }),
    };
  }

  /**
   * @returns `undefined` if no keys are configured, or the user's code accepts no tokens
   * @throws Error that names the wrong variable, or the missing package
   */
  static async open(
    settings: TokenSettings,
    login: LoginModule | undefined,
    log: TokenLog,
  ): Promise<Tokens | undefined> {
    if (settings.key === '' && settings.keysUrl === '') return undefined;
    const { loginWithToken } = login ?? {};
    if (loginWithToken === undefined) {
      throw new Error(
        'TOKEN_KEY or TOKEN_KEYS_URL is set, and src/login.ts exports no loginWithToken.',
      );
    }
    if (settings.key !== '' && settings.keysUrl !== '') {
      throw new Error('TOKEN_KEY and TOKEN_KEYS_URL are both set; set one of them.');
    }
    if (settings.key === '' && !URL.canParse(settings.keysUrl)) {
      throw new Error('TOKEN_KEYS_URL is no address.');
    }
    return new Tokens(await loadJose(), settings, loginWithToken, log);
  }

  of(authorization: string | undefined): string | undefined {
    if (authorization === undefined || !/^bearer(?: |$)/i.test(authorization)) return undefined;
    const token = authorization.slice('bearer'.length).trim();
    if (token.length <= longestToken && /^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return token;
    throw refusedToken('The bearer token is no signed JSON Web Token.');
  }

  nameOf(token: string): string {
    return `bearer ${hash('sha256', token, 'hex')}`;
  }

  async grantOf(token: string): Promise<TokenGrant> {
    const { exp, ...claims } = await this.#verified(token);
    const login = await this.loginWithToken({ exp, ...claims });
    if (!login) throw refusedToken('The bearer token stands for nobody here.');
    return { login, expires: (exp ?? 0) + tolerance };
  }

  async #verified(token: string): Promise<TokenClaims & { readonly exp?: number }> {
    try {
      return (await this.#jose.jwtVerify(token, this.#key, this.#options)).payload;
    } catch (error) {
      if (error instanceof RequestError) throw error;
      // The reason is not sent: it would help those who forge tokens.
      this.log.debug({ err: error }, 'A bearer token is refused');
      throw refusedToken('The bearer token is not valid, or has expired.');
    }
  }
}

/** Errors of a token whose keys were looked for in a set that was read. */
const ofToken: ReadonlySet<unknown> = new Set([
  'ERR_JWKS_NO_MATCHING_KEY',
  'ERR_JWKS_MULTIPLE_MATCHING_KEYS',
  'ERR_JOSE_NOT_SUPPORTED',
]);

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

/**
 * The keys of an address. While it cannot be reached, those that were fetched last are used.
 * @returns a set that throws RequestError 503 if the key of a token is not among them
 */
function lastingKeys(jose: Jose, url: URL, log: TokenLog): KeySet {
  const remote = jose.createRemoteJWKSet(url);
  let [isReached, retryAt] = [true, 0];
  const known: KeySet = async (header, token) => {
    const keys = remote.jwks();
    try {
      if (keys !== undefined) return await jose.createLocalJWKSet(keys)(header, token);
    } catch (error) {
      if (codeOf(error) !== 'ERR_JWKS_NO_MATCHING_KEY') throw error;
    }
    throw refuseBusy('The keys of bearer tokens cannot be fetched now.', retryAfter);
  };
  return async (header, token) => {
    if (performance.now() < retryAt) return known(header, token);
    try {
      const key = await remote(header, token);
      [isReached, retryAt] = [true, 0];
      return key;
    } catch (error) {
      if (ofToken.has(codeOf(error))) throw error;
      if (isReached) log.warn({ err: error }, 'The keys of TOKEN_KEYS_URL cannot be fetched');
      [isReached, retryAt] = [false, performance.now() + retryAfter * 1000];
      return known(header, token);
    }
  };
}

function keyOf(text: string): KeyObject {
  if (text.includes('-----BEGIN')) {
    try {
      // The environment of some systems holds no line breaks.
      return createPublicKey(text.replaceAll('\\n', '\n'));
    } catch (error) {
      throw new Error('TOKEN_KEY is no public key that can be read.', { cause: error });
    }
  }
  if (text.length < shortestSecret) {
    throw new Error(
      `TOKEN_KEY must have at least ${shortestSecret} characters, or be a public key.`,
    );
  }
  return createSecretKey(Buffer.from(text));
}

async function loadJose(): Promise<Jose> {
  try {
    return (await import(packageName)) as Jose;
  } catch (error) {
    throw new Error('Bearer tokens need the package jose: npm install jose', { cause: error });
  }
}

function refusedToken(message: string): RequestError {
  return new RequestError(401, [protocolError('loginFailed', message)], {
    'www-authenticate': 'Bearer error="invalid_token"',
  });
}

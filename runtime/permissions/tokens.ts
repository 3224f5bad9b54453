import { createPublicKey, createSecretKey, hash, type KeyObject } from 'node:crypto';
import { protocolError, RequestError } from '../protocol/errors.js';
import type {
  BearerTokens,
  LoginModule,
  TokenClaims,
  TokenGrant,
  TokenSettings,
} from '../access/login-module.js';

type TokenKey = KeyObject | ((...parts: never[]) => unknown);

/** The part of the package jose that is used. */
interface Jose {
  jwtVerify(
    token: string,
    key: TokenKey,
    options: object,
  ): Promise<{ readonly payload: TokenClaims & { readonly exp?: number } }>;
  createRemoteJWKSet(url: URL): TokenKey;
}

/** The name of the package, in a variable: so servers without users compile without it. */
const packageName = 'jose';
/** Longer tokens are refused unverified. */
const longestToken = 8192;
const shortestSecret = 32;

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
  readonly #key: TokenKey;
  readonly #options: object;

  private constructor(
    jose: Jose,
    settings: TokenSettings,
    private readonly loginWithToken: NonNullable<LoginModule['loginWithToken']>,
  ) {
    const { key, keysUrl, issuer, audience } = settings;
    const known = key === '' ? undefined : keyOf(key);
    this.#jose = jose;
    this.#key = known ?? jose.createRemoteJWKSet(new URL(keysUrl));
    this.#options = {
      // A public key must never be taken for a secret.
      algorithms: known?.type === 'secret' ? symmetric : asymmetric,
      requiredClaims: ['exp'],
      clockTolerance: 5,
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
    return new Tokens(await loadJose(), settings, loginWithToken);
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
    return { login, expires: exp ?? 0 };
  }

  async #verified(token: string): Promise<TokenClaims & { readonly exp?: number }> {
    try {
      return (await this.#jose.jwtVerify(token, this.#key, this.#options)).payload;
    } catch {
      // The reason is not sent: it would help those who forge tokens.
      throw refusedToken('The bearer token is not valid, or has expired.');
    }
  }
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

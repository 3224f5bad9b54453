import type { Grant } from './session.js';

/** The longest user name and password, which bounds the time to hash them. */
export const longestCredential = 1024;

export interface Login extends Grant {
  readonly userName: string;
}

/** Members of a verified bearer token, unchanged. */
export type TokenClaims = Readonly<Record<string, unknown>>;

export interface LoginAttempts {
  /**
   * @param address of the client
   * @returns `undefined` if the user is unknown or the password is wrong
   * @throws RequestError 429 with `Retry-After` while the user or the address has to wait;
   * DatabaseUnavailableError if a disk, a database or a network fails; other errors of the user's
   * code
   */
  grantOf(user: string, password: string, address: string): Promise<Grant | undefined>;
}

/** Bearer tokens that a server accepts. */
export interface BearerTokens {
  /**
   * The token of an `Authorization` header; `undefined` if there is none of that kind.
   * @throws RequestError 401 with 1822 if it cannot be one
   */
  of(authorization: string | undefined): string | undefined;
  /** The name by which the session of a token is found. The token itself is not stored. */
  nameOf(token: string): string;
  /**
   * What a token grants; calls the user's code with the claims of a valid token.
   * @throws RequestError 401 with 1822 if it is invalid, or belongs to nobody
   */
  grantOf(token: string): Promise<TokenGrant>;
}

/** The grant of a token, and until when it is valid: seconds since 1970. */
export interface TokenGrant {
  readonly login: Login;
  readonly expires: number;
}

/** What the user's `src/login.ts` exports (`access.md#logging-in`). */
export interface LoginModule {
  /** Called once, when the server starts: an error stops the start. */
  readonly openUsers?: () => Promise<void> | void;
  /**
   * Called before each use of a session that is in the memory of the server, and before and after
   * each login.
   * @returns names of users whose sessions have ended since the last call
   */
  readonly endedUsers?: () => Promise<readonly string[]> | readonly string[];
  /** @returns what the user may do; `null` if the name or the password is wrong */
  readonly login: (user: string, password: string) => Promise<Login | null> | Login | null;
  /** Maps the claims of a bearer token; without it, bearer tokens are not accepted. */
  readonly loginWithToken?: (claims: TokenClaims) => Promise<Login | null> | Login | null;
}

/** The keys by which bearer tokens are verified; at most one of the first two is set. */
export interface TokenSettings {
  /** A secret of 32 characters at least, or a public key as PEM. */
  readonly key: string;
  /** Address of a JSON Web Key Set. */
  readonly keysUrl: string;
  /** What the claims `iss` and `aud` must contain; empty: anything. */
  readonly issuer: string;
  readonly audience: string;
}

/** The roles of a model, as the generator resolved them; the definitions say who may do what. */
export interface RolesSettings {
  /** Guests may log in and read the catalog, and nothing else. */
  readonly forceLogin: boolean;
  /** Every declared privilege and all that it includes, itself first. */
  readonly privileges: readonly (Renamed & { readonly includes: readonly string[] })[];
  readonly roles: readonly (Renamed & { readonly privileges: readonly string[] })[];
  /** The privilege that opens the explorer; absent if everyone can open it. */
  readonly explorer?: string;
}

interface Renamed {
  readonly name: string;
  /** Earlier names, which may be stored for users. */
  readonly renamedFrom?: readonly string[];
}

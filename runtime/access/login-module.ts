import type { Grant } from './session.js';

/** A grant of a login that succeeded. */
export interface Login extends Grant {
  readonly userName: string;
}

/** Members of a bearer token that was verified, as they stand in it. */
export type TokenClaims = Readonly<Record<string, unknown>>;

/** Tries logins. */
export interface LoginAttempts {
  /**
   * @param address of the client
   * @returns `undefined` when the user is unknown or the password is wrong
   * @throws RequestError 429 with `Retry-After` while the user or the address has to wait; DatabaseUnavailableError where a
   * disk, a database or a network fails; what else the user's code throws
   */
  grantOf(user: string, password: string, address: string): Promise<Grant | undefined>;
}

/** Bearer tokens that a server takes. */
export interface BearerTokens {
  /**
   * The token of an `Authorization` header; `undefined` when there is none of that kind.
   * @throws RequestError 401 with 1822 when it cannot be one
   */
  of(authorization: string | undefined): string | undefined;
  /** What the session of a token is found by. The token itself is not kept. */
  nameOf(token: string): string;
  /**
   * What a token grants; the user's code is asked with the claims of a token that is right.
   * @throws RequestError 401 with 1822 when it is not right, or stands for nobody
   */
  grantOf(token: string): Promise<TokenGrant>;
}

/** Whom a token stands for, and until when: seconds since 1970. */
export interface TokenGrant {
  readonly login: Login;
  readonly expires: number;
}

/** What the user's `src/login.ts` exports (`access.md#logging-in`). */
export interface LoginModule {
  /** Called once, when the server starts: what it throws stops the start. */
  readonly openUsers?: () => Promise<void> | void;
  /** @returns what the user may do; `null` when the name or the password is wrong */
  readonly login: (user: string, password: string) => Promise<Login | null> | Login | null;
  /** Maps the claims of a bearer token; without it, bearer tokens are not accepted. */
  readonly loginWithToken?: (claims: TokenClaims) => Promise<Login | null> | Login | null;
}

/** Where the keys are that bearer tokens are signed with; at most one of the first two is set. */
export interface TokenSettings {
  /** A secret of 32 characters at least, or a public key as PEM. */
  readonly key: string;
  /** Address of a JSON Web Key Set. */
  readonly keysUrl: string;
  /** What the claims `iss` and `aud` must hold; empty: anything. */
  readonly issuer: string;
  readonly audience: string;
}

/** The roles of a model, as the generator resolved them; who may do what stands in the definitions. */
export interface RolesSettings {
  /** Guests may log in and read the catalog, and nothing else. */
  readonly forceLogin: boolean;
  /** Every declared privilege and all that it includes, itself first. */
  readonly privileges: readonly (Renamed & { readonly includes: readonly string[] })[];
  readonly roles: readonly (Renamed & { readonly privileges: readonly string[] })[];
}

interface Renamed {
  readonly name: string;
  /** Earlier names, which users may have been given. */
  readonly renamedFrom?: readonly string[];
}

import type { Grant } from './session.js';

/** A grant of a login that succeeded. */
export interface Login extends Grant {
  readonly userName: string;
}

/** Members of a bearer token that was verified, as they stand in it. */
export type TokenClaims = Readonly<Record<string, unknown>>;

/** What the user's `src/login.ts` exports (protocol decision 18). */
export interface LoginModule {
  /** Called once, when the server starts: what it throws stops the start. */
  readonly openUsers?: () => Promise<void> | void;
  /** @returns what the user may do; `null` when the name or the password is wrong */
  readonly login: (user: string, password: string) => Promise<Login | null> | Login | null;
  /** Maps the claims of a bearer token; without it, bearer tokens are not accepted. */
  readonly loginWithToken?: (claims: TokenClaims) => Promise<Login | null> | Login | null;
}

/** The part of autocannon that the bench uses; the package has no types. */
declare module 'autocannon' {
  interface Options {
    readonly url: string;
    readonly connections: number;
    /** Seconds. */
    readonly duration: number;
    /** Timeout of an answer, in seconds. */
    readonly timeout: number;
    readonly headers?: Readonly<Record<string, string>>;
    readonly requests: readonly Request[];
  }
  /** The state that one connection keeps between its requests. */
  interface Context {
    key?: unknown;
  }
  export interface Request {
    readonly method?: 'POST' | 'PATCH';
    readonly headers?: Readonly<Record<string, string>>;
    readonly path: string;
    readonly body?: string;
    readonly setupRequest?: (request: Request, context: Context) => Request;
    readonly onResponse?: (status: number, body: string, context: Context) => void;
  }
  export interface Result {
    /** Broken connections, and requests that were not answered in time. */
    readonly errors: number;
    readonly timeouts: number;
    readonly non2xx: number;
    readonly statusCodeStats: Readonly<Record<string, { readonly count: number }>>;
    /** Seconds. */
    readonly duration: number;
    readonly requests: { readonly total: number };
  }
  interface Run extends PromiseLike<Result> {
    on(
      event: 'response',
      listener: (client: unknown, status: number, bytes: number, milliseconds: number) => void,
    ): void;
  }
  export default function autocannon(options: Options): Run;
}

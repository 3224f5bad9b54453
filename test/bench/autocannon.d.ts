/** As much of autocannon as the bench uses; it brings no types of its own. */
declare module 'autocannon' {
  interface Options {
    readonly url: string;
    readonly connections: number;
    /** Seconds. */
    readonly duration: number;
    readonly requests: readonly { readonly path: string }[];
  }
  interface Result {
    readonly errors: number;
    readonly non2xx: number;
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

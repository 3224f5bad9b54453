export function buildRuntime(
  folder: string,
  options?: {
    readonly changed?: Readonly<Record<string, string>>;
    readonly added?: Readonly<Record<string, string>>;
  },
): Promise<void>;

export function buildTypes(folder: string): Promise<void>;

export function buildClient(folder: string): Promise<void>;

export function sourcesHash(): string;

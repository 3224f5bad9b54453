import { isIP } from 'node:net';
import { availableParallelism } from 'node:os';

/** What a setting may be. */
export interface SettingKind<Value> {
  /** In words, for errors: "it must be …". */
  readonly form: string;
  /** @returns `undefined` for a text that is none */
  readonly parse: (text: string) => Value | undefined;
}

export const text: SettingKind<string> = { form: 'a text', parse: (given) => given };

export const onOrOff: SettingKind<boolean> = {
  form: 'on or off',
  parse: (given) => (given === 'on' || given === 'off' ? given === 'on' : undefined),
};

export function oneOf<const Value extends string>(...values: readonly Value[]): SettingKind<Value> {
  return {
    form: values.join(', ').replace(/, (\w+)$/, ' or $1'),
    parse: (given) => values.find((each) => each === given),
  };
}

/** @param most the largest number that keeps all its digits, if it is left out */
export function whole(least: number, most?: number, unit?: string): SettingKind<number> {
  const range = most === undefined ? `, at least ${least}` : ` from ${least} to ${most}`;
  return {
    form: `a whole number${unit === undefined ? '' : ` of ${unit}`}${range}`,
    parse: (given) => {
      const value = Number(given);
      const isInside = value >= least && value <= (most ?? Number.MAX_SAFE_INTEGER);
      return /^\d+$/.test(given) && isInside ? value : undefined;
    },
  };
}

export const positive = whole(1);
/** Timers of Node hold 31 bits of milliseconds. */
export const milliseconds = whole(1, 2 ** 31 - 1, 'milliseconds');
export const seconds = whole(1, Math.floor((2 ** 31 - 1) / 1_000), 'seconds');

// A greater number is a mistake: each process has caches and connections of its own.
const mostProcesses = 256;
const count = whole(1, mostProcesses);
export const processes: SettingKind<number> = {
  form: `${count.form}, or auto for one per processor`,
  parse: (given) =>
    given === 'auto' ? Math.min(availableParallelism(), mostProcesses) : count.parse(given),
};

export const cookieName: SettingKind<string> = {
  form: 'the name of a cookie: letters, digits, "_", "-" and ".", at most 100',
  parse: (given) => (/^[A-Za-z0-9_.-]{1,100}$/.test(given) ? given : undefined),
};

export const origins: SettingKind<readonly string[]> = {
  form: 'origins with commas between, each as a browser sends it: https://app.example.com, in lower case, without a path, a wildcard or the usual port',
  parse: (given) => listOf(given, isOrigin),
};

export const proxies: SettingKind<number | string[]> = {
  form: 'a number of proxies, or addresses and networks with commas between them',
  parse: (given) => (/^\d{1,2}$/.test(given) ? Number(given) : listOf(given, isNetwork)),
};

function listOf(text: string, isValid: (each: string) => boolean): string[] | undefined {
  const list = text.split(',').map((each) => each.trim());
  return list.every(isValid) ? list : undefined;
}

/** Apps of phones and desktops have their own schemes, such as `capacitor://localhost`. */
export function isOrigin(text: string): boolean {
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^/?#@*\s,]+$/.test(text)) return false;
  if (!/^https?:/.test(text)) return true;
  return URL.canParse(text) && new URL(text).origin === text;
}

/** Networks that have a name, in addition to addresses. */
const namedNetworks = ['loopback', 'linklocal', 'uniquelocal'];

function isNetwork(text: string): boolean {
  if (namedNetworks.includes(text)) return true;
  const [address = '', bits = '0', ...others] = text.split('/');
  const longest = isIP(address) === 4 ? 32 : isIP(address) === 6 ? 128 : -1;
  return /^\d{1,3}$/.test(bits) && Number(bits) <= longest && others.length === 0;
}

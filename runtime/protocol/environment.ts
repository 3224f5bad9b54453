import { type Setting, type SettingName, settings } from './settings-table.js';

/** Variables of the environment that the server runs in. */
export type Environment = Readonly<Record<string, string | undefined>>;

type Settings = typeof settings;

type Value<Name extends SettingName> =
  | NonNullable<ReturnType<Settings[Name]['kind']['parse']>>
  | (Settings[Name] extends { readonly usual: unknown } ? never : undefined);

/**
 * The value of a setting; if the environment does not set it, the usual one.
 * @throws Error that names the setting, and says what it must be
 */
export function readSetting<Name extends SettingName>(
  environment: Environment,
  name: Name,
): Value<Name> {
  const { kind, usual }: Setting = settings[name];
  const text = textOf(environment, name);
  if (text === undefined) return usual as Value<Name>;
  const value = kind.parse(text);
  if (value !== undefined) return value as Value<Name>;
  throw new Error(`${name} is ${JSON.stringify(text)}; it must be ${kind.form}.`);
}

/** The text of a setting; an empty one counts as not set. */
export function textOf(environment: Environment, name: SettingName): string | undefined {
  const text = environment[name];
  return text === '' ? undefined : text;
}

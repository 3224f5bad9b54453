import {
  limitVariables,
  type Setting,
  settings,
} from '../../../runtime/protocol/settings-table.js';
import type { Model } from '../../model/model.js';
import { hasJobs, isLive } from '../classes/class-code.js';
import { databaseTexts } from './database-texts.js';

type NamedSetting = readonly [name: string, setting: Setting];

/** The settings that override limits of the model. */
export const limitSettings: readonly NamedSetting[] = limitVariables.map((name) => [
  name,
  settings[name],
]);

/** All other settings of a server. */
export function settingsOf(model: Model): readonly NamedSetting[] {
  const texts = model.databases.map((each) => databaseTexts[each]);
  const database = {
    ...settings.DATABASE_URL,
    usual: texts[0]?.defaultUrl(model) ?? '',
    meaning: texts.map(({ urls }) => urls).join('; or '),
  };
  const parts = new Set<Setting['of']>([
    undefined,
    ...model.databases,
    ...(model.roles === undefined ? [] : ['roles' as const]),
    ...(isLive(model) ? ['live' as const] : []),
    ...(hasJobs(model) ? ['jobs' as const] : []),
  ]);
  return Object.entries<Setting>({ ...settings, DATABASE_URL: database }).filter(
    ([, { of, limit }]) => limit === undefined && parts.has(of),
  );
}

/** A row of the README. */
export function settingRow([name, setting]: NamedSetting): string {
  return `| \`${name}\` | ${usualWords(setting)} | ${setting.meaning} |`;
}

/** What a setting is by default, in Markdown. */
export function usualWords({ usual, usually = 'none' }: Setting): string {
  if (usual === undefined) return usually;
  return typeof usual === 'number' ? String(usual) : `\`${valueText(usual)}\``;
}

/** A line of `.env.example`. */
export function exampleLine([name, { usual, usually, meaning }]: NamedSetting): string {
  if (usual !== undefined) return `${name}=${valueText(usual)}`;
  return `# ${name}= (${meaning}${usually === undefined ? '' : `; default: ${usually}`})`;
}

function valueText(value: NonNullable<Setting['usual']>): string {
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  return String(value);
}

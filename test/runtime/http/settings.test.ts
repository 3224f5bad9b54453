import { describe, expect, it } from 'vitest';
import { limitRules } from '../../../generator/source/limits.js';
import { type Limits, limitsFrom } from '../../../runtime/http/settings.js';
import { readSetting } from '../../../runtime/protocol/environment.js';
import { limitVariables, settings } from '../../../runtime/protocol/settings-table.js';

const defaults = Object.fromEntries(
  Object.entries(limitRules).map(([name, rule]) => [name, rule.default]),
) as unknown as Limits;

/** The limits that timers measure, which can overflow. */
const timed = limitVariables.filter((variable) => variable.endsWith('TIMEOUT'));

describe('A limit of the environment that a timer measures', () => {
  it.each(timed)('may be as large as in the model, but not larger: %s', (variable) => {
    const { limit } = settings[variable];
    const { maximum } = limitRules[limit];
    expect(limitsFrom(defaults, { [variable]: String(maximum) })[limit]).toBe(maximum);
    expect(() => limitsFrom(defaults, { [variable]: String(maximum + 1) })).toThrow(
      new RegExp(`^${variable} is "${maximum + 1}"; .* from 1 to ${maximum}\\.$`),
    );
  });
});

describe('A whole number of the environment', () => {
  it('is usual if it is not set, or empty', () => {
    expect(readSetting({}, 'STOP_DELAY')).toBe(0);
    expect(readSetting({ STOP_DELAY: '' }, 'STOP_DELAY')).toBe(0);
    expect(readSetting({ STOP_DELAY: '3600' }, 'STOP_DELAY')).toBe(3600);
  });

  it.each(['soon', '-1', '1.5', '1e3', ' 1', '3601'])('is refused when it is %j', (delay) => {
    expect(() => readSetting({ STOP_DELAY: delay }, 'STOP_DELAY')).toThrow(
      `STOP_DELAY is "${delay}"; it must be a whole number of seconds from 0 to 3600.`,
    );
  });
});

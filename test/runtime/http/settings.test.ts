import { describe, expect, it } from 'vitest';
import { limitRules } from '../../../generator/source/limits.js';
import { type Limits, limitsFrom, limitVariables } from '../../../runtime/http/settings.js';
import { stopDelay } from '../../../runtime/http/stop.js';

const defaults = Object.fromEntries(
  Object.entries(limitRules).map(([name, rule]) => [name, rule.default]),
) as unknown as Limits;

/** The limits that timers measure, which can overflow. */
const timed = Object.entries(limitRules).filter(([name]) => name.endsWith('Timeout'));

describe('A limit of the environment that a timer measures', () => {
  it.each(timed)('may be as large as in the model, but not larger: %s', (name, { maximum }) => {
    const limit = name as keyof Limits;
    const variable = limitVariables[limit];
    expect(limitsFrom(defaults, { [variable]: String(maximum) })[limit]).toBe(maximum);
    expect(() => limitsFrom(defaults, { [variable]: String(maximum + 1) })).toThrow(
      `${variable} is ${maximum + 1}; it must not be greater than ${maximum}.`,
    );
  });
});

describe('STOP_DELAY', () => {
  it('is a number of whole seconds, of which there is none by default', () => {
    expect(stopDelay({})).toBe(0);
    expect(stopDelay({ STOP_DELAY: '3600' })).toBe(3_600_000);
  });

  it.each(['soon', '-1', '1.5', '3601'])('is refused when it is %s', (delay) => {
    expect(() => stopDelay({ STOP_DELAY: delay })).toThrow(
      `STOP_DELAY is "${delay}"; it must be a whole number of seconds from 0 to 3600.`,
    );
  });
});

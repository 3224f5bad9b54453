import { textsOf, withoutQuoted } from './expression-text.js';

/** Functions that speak of the current time when an argument says so, or when there is none. */
const timeFunction = /\b(?:date|time|datetime|julianday|unixepoch|strftime|timediff)\s*\(/i;
const withoutArgument = /\b(?:date|time|datetime|julianday|unixepoch)\s*\(\s*\)/i;
const timeKeyword = /\bcurrent_(?:date|time|timestamp)\b/i;

/**
 * Why the value of an expression depends on when or where it is read, told from its text: the database notices this only when
 * it computes such a value, and every read would fail then.
 */
export function dependsOnTime(expression: string): string | undefined {
  const open = withoutQuoted(expression);
  if (timeKeyword.test(open)) return 'it speaks of the current time';
  if (!timeFunction.test(open)) return undefined;
  const words = textsOf(expression).map((each) => each.trim().toLowerCase());
  if (words.includes('now') || withoutArgument.test(expression)) {
    return 'it speaks of the current time';
  }
  const zone = words.find((each) => each === 'localtime' || each === 'utc');
  return zone === undefined ? undefined : 'it depends on the time zone of the server';
}

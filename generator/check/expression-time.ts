import { textsOf, withoutQuoted } from './expression-text.js';

/** Functions that return the current time for certain arguments, or without arguments. */
const timeFunction = /\b(?:date|time|datetime|julianday|unixepoch|strftime|timediff)\s*\(/i;
const withoutArgument = /\b(?:date|time|datetime|julianday|unixepoch)\s*\(\s*\)/i;
const timeKeyword = /\bcurrent_(?:date|time|timestamp)\b/i;

/**
 * Why the value of an expression depends on when or where it is read, by its text: the database
 * notices this only when it computes such a value, and then every read would fail.
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

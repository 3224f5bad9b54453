/**
 * A number in decimal notation: optional sign, digits, optional fraction, optional exponent;
 * leading zeros are allowed, blanks and the words `NaN` and `Infinity` are not. Returns `undefined`
 * for anything else, and an infinity for `1e999`.
 */
export function numberFromText(text: string): number | undefined {
  return isNumber(text) ? Number(text) + 0 : undefined;
}

/**
 * An integer written as digits with an optional minus, if a double holds it exactly (protocol
 * P4.6).
 */
export function integerFromText(text: string): number | undefined {
  const digits = text.charCodeAt(0) === 0x2d ? 1 : 0;
  if (digits === text.length || digitsEnd(text, digits) !== text.length) return undefined;
  const value = Number(text) + 0;
  return Number.isSafeInteger(value) ? value : undefined;
}

/**
 * A number as JSON from which a database reads the same number. Beyond 2^53 the shortest digits of
 * a whole number are those of another integer, unless they are read as a fraction.
 */
export function numberJson(value: number): string {
  if (value === Infinity) return '9e999';
  if (value === -Infinity) return '-9e999';
  const json = String(value + 0);
  return Math.abs(value) > Number.MAX_SAFE_INTEGER && /^-?\d+$/.test(json) ? `${json}.0` : json;
}

/** Whether a number that {@link numberFromText} reads as 0 is another one, too near to 0 for a double. */
export function isTiny(text: string): boolean {
  return Number(text) === 0 && /^[^e]*[1-9]/i.test(text);
}

/**
 * A number of a JSON text whose digits a double does not hold. Attributes that store doubles take its
 * value; others refuse it, as they refuse an object (protocol P4.6, P4.16).
 */
export class RoundedNumber {
  readonly value: number;

  /** @param text as it was sent */
  constructor(readonly text: string) {
    this.value = Number(text);
  }

  /** Whether the nearest double is 0, although the number is not. */
  get isTiny(): boolean {
    return this.value === 0;
  }

  toJSON(): number {
    return this.value;
  }
}

/** Whether the text is a number as {@link numberFromText} reads it. */
export function isNumber(text: string): boolean {
  const first = text.charCodeAt(0);
  const integer = first === 0x2b || first === 0x2d ? 1 : 0;
  let end = digitsEnd(text, integer);
  if (end === integer) return false;
  if (text.charCodeAt(end) === 0x2e) {
    const fraction = end + 1;
    end = digitsEnd(text, fraction);
    if (end === fraction) return false;
  }
  if ((text.charCodeAt(end) | 0x20) === 0x65) {
    const sign = text.charCodeAt(end + 1);
    const exponent = sign === 0x2b || sign === 0x2d ? end + 2 : end + 1;
    end = digitsEnd(text, exponent);
    if (end === exponent) return false;
  }
  return end === text.length;
}

/** The end of the digits that begin at `start`. */
export function digitsEnd(text: string, start: number): number {
  let at = start;
  // Beyond its end, a character of a text is found slowly.
  while (at < text.length && isDigit(text.charCodeAt(at))) at += 1;
  return at;
}

function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39;
}

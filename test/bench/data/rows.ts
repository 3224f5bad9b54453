import { awkwardEndings, cities, countries, firstNames, jobTitles, lastNames } from './names.js';
import type { Random } from './random.js';

export const companyCount = 1_000;

/** Values by column; a boolean is 0 or 1. */
export type Row = Readonly<Record<string, string | number | null>>;

const day = 86_400_000;
/** The first employees are the managers of the others. */
const managerCount = 2_000;

const firstDay = Date.UTC(1960, 0, 1);

export function companyRow(id: number, random: Random): Row {
  const name = `${random.pick(lastNames)} & ${random.pick(lastNames)} ${id}`;
  const city = random.pick(cities);
  return {
    ID: id,
    __STAMP: 1 + random.below(9),
    __TIMESTAMP: instant(random),
    name,
    city,
    country: orNull(random, random.pick(countries)),
    founded: orNull(random, instant(random).slice(0, 10)),
    revenue: orNull(random, random.below(1e11) / 100),
    active: random.below(2),
    __folded_name: fold(name),
    __folded_city: fold(city),
  };
}

export function employeeRow(id: number, random: Random): Row {
  const firstName = random.pick(firstNames);
  const lastName =
    random.pick(lastNames) + (random.below(100) === 0 ? random.pick(awkwardEndings) : '');
  const email = `${firstName}.${id}@Example.com`;
  const city = random.pick(cities);
  return {
    ID: id,
    __STAMP: 1 + random.below(9),
    __TIMESTAMP: instant(random),
    firstName: orNull(random, firstName),
    lastName,
    email,
    birthDate: orNull(random, instant(random).slice(0, 10)),
    hiredAt: orNull(random, instant(random)),
    salary: orNull(random, 20_000 + random.below(10_000_000) / 100),
    active: random.below(20) === 0 ? null : random.below(2),
    city,
    jobTitle: orNull(random, random.pick(jobTitles)),
    score: orNull(random, random.below(1_000)),
    employerID: orNull(random, 1 + random.below(companyCount)),
    managerID: id === 1 ? null : orNull(random, 1 + random.below(Math.min(id - 1, managerCount))),
    __folded_lastName: fold(lastName),
    __folded_email: fold(email),
    __folded_city: fold(city),
  };
}

function orNull<T>(random: Random, value: T): T | null {
  return random.below(50) === 0 ? null : value;
}

function instant(random: Random): string {
  return new Date(firstDay + random.below(23_000) * day + random.below(day)).toISOString();
}

function fold(text: string): string {
  return text.normalize('NFC').toLowerCase();
}

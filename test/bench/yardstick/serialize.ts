/** A row of "Employee" by position, as `employeeColumns` lists them. */
export type EmployeeRow = readonly [
  id: number,
  timestamp: string,
  stamp: number,
  firstName: string | null,
  lastName: string | null,
  email: string | null,
  birthDate: string | null,
  hiredAt: string | null,
  salary: number | null,
  active: number | null,
  city: string | null,
  jobTitle: string | null,
  score: number | null,
  employer: number | null,
  manager: number | null,
];

/** @param manager the key of the manager */
export function employeeColumns(manager: string): string {
  return `e."ID", e."__TIMESTAMP", e."__STAMP", e."firstName", e."lastName", e."email", e."birthDate",
  e."hiredAt", e."salary", e."active", e."city", e."jobTitle", e."score", e."employerID", ${manager}`;
}

/** A row of "Company" by position, as `companyColumns` lists them. */
export type CompanyRow = readonly [
  id: number,
  timestamp: string,
  stamp: number,
  name: string | null,
  city: string | null,
  country: string | null,
  founded: string | null,
  revenue: number | null,
  active: number | null,
];

export const companyColumns = `c."ID", c."__TIMESTAMP", c."__STAMP", c."name", c."city", c."country", c."founded",
  c."revenue", c."active"`;

/** @param head `{` or what comes after it */
export function employeeJson(
  row: EmployeeRow,
  employer: string,
  manager: string,
  head = '{',
): string {
  const id = row[0];
  return (
    `${head}"__KEY":"${id}","__TIMESTAMP":"${row[1]}","__STAMP":${row[2]},"ID":${id},"firstName":${text(row[3])}` +
    `,"lastName":${text(row[4])},"email":${text(row[5])},"birthDate":${date(row[6])},"hiredAt":${date(row[7])}` +
    `,"salary":${String(row[8])},"active":${boolean(row[9])},"city":${text(row[10])},"jobTitle":${text(row[11])}` +
    `,"score":${String(row[12])},"employer":${employer},"manager":${manager}}`
  );
}

export function deferredEmployer(id: number | null): string {
  return id === null ? 'null' : `{"__deferred":{"uri":"/rest/Company(${id})","__KEY":"${id}"}}`;
}

export function deferredManager(id: number | null): string {
  return id === null ? 'null' : `{"__deferred":{"uri":"/rest/Employee(${id})","__KEY":"${id}"}}`;
}

export function companyJson(row: CompanyRow, staff: string): string {
  const id = row[0];
  return (
    `{"__KEY":"${id}","__TIMESTAMP":"${row[1]}","__STAMP":${row[2]},"ID":${id},"name":${text(row[3])}` +
    `,"city":${text(row[4])},"country":${text(row[5])},"founded":${date(row[6])},"revenue":${String(row[7])}` +
    `,"active":${boolean(row[8])},"staff":${staff}}`
  );
}

export function deferredStaff(id: number): string {
  return `{"__deferred":{"uri":"/rest/Company(${id})/staff?$expand=staff"}}`;
}

export interface Envelope {
  readonly stamp: number | undefined;
  readonly count: number | undefined;
  readonly sent: number;
  readonly first: number;
  /** The entities with commas between. */
  readonly list: string;
}

/** The part of a collection after the name of the dataclass. */
export function envelope({ stamp, count, sent, first, list }: Envelope): string {
  return `"__GlobalStamp":${String(stamp)},"__COUNT":${String(count)},"__SENT":${sent},"__FIRST":${first},"__ENTITIES":[${list}]}`;
}

// eslint's rule against control characters is about mistakes; JSON escapes exactly these.
const mustEscape = new RegExp('["\\\\\\u0000-\\u001f\\ud800-\\udfff]');

export function text(value: string | null): string {
  if (value === null) return 'null';
  return mustEscape.test(value) ? JSON.stringify(value) : `"${value}"`;
}

function date(value: string | null): string {
  return value === null ? 'null' : `"${value}"`;
}

function boolean(value: number | null): string {
  return value === null ? 'null' : value === 1 ? 'true' : 'false';
}

/** A line of `explain query plan`. */
export interface PlanLine {
  readonly id: number;
  /** Another line's, or 0. */
  readonly parent: number;
  readonly detail: string;
}

/** A part of SQLite's plan of a statement. Parts of a list run one in another: each for every row of those before it. */
export type PlanPart = Loop | Group;

/** Goes through rows of a table, or of a part. */
export interface Loop {
  readonly kind: 'loop';
  /** The table's name; that of the statement for what is no table. */
  readonly table: string;
  /** Rows are found by an index. */
  readonly search: Search | undefined;
  /** It ends with the page that the statement reads. */
  readonly isPaged: boolean;
}

export interface Search {
  /** `rowid` for the key by which the table itself is kept. */
  readonly index: string;
  /** How many of its columns have one value; `undefined` where one is within bounds. */
  readonly equalities: number | undefined;
}

export interface Group {
  readonly kind: 'group';
  /** Runs for each row of the parts before it. */
  readonly isCorrelated: boolean;
  /** Its parts run one after the other. */
  readonly isUnion: boolean;
  /** What the statement calls the rows that it makes. */
  readonly name: string | undefined;
  readonly parts: readonly PlanPart[];
}

/** Reads a plan. What is not known of it counts as little: that a statement takes long is measured besides. */
export function readPlan(lines: readonly PlanLine[], sql: string): readonly PlanPart[] {
  const tables = tablesOf(sql);
  const partsOf = (parent: number): readonly PlanPart[] => {
    const own = lines.filter((line) => line.parent === parent);
    const isSorted = own.some(({ detail }) => detail.startsWith('USE TEMP B-TREE'));
    return own.flatMap(({ id, detail }): readonly PlanPart[] => {
      const loop = loopOf(detail, sql, tables, isSorted);
      if (loop !== undefined) return [loop];
      const parts = partsOf(id);
      return parts.length === 0 ? [] : [groupOf(detail, parts)];
    });
  };
  return partsOf(0);
}

const loopLine =
  /^(SCAN|SEARCH) (?!CONSTANT ROW|\d+ CONSTANT ROWS)(.+?)(?: USING (?:(INTEGER PRIMARY KEY|PRIMARY KEY)|(?:AUTOMATIC )?(?:PARTIAL )?(?:COVERING )?INDEX (.*?))(?: \((.*)\))?(?: LEFT-JOIN| EXISTS)?| VIRTUAL TABLE .*| LEFT-JOIN| EXISTS)?$/;

function loopOf(
  detail: string,
  sql: string,
  tables: ReadonlyMap<string, string>,
  isSorted: boolean,
): Loop | undefined {
  const found = loopLine.exec(detail);
  if (found === null) return undefined;
  const [, verb, name = '', key, index = '', terms] = found;
  // An automatic index is made for one statement and thrown away: its table is read as a whole.
  const isSearch = verb === 'SEARCH' && terms !== undefined && !detail.includes(' AUTOMATIC ');
  return {
    kind: 'loop',
    table: tables.get(name) ?? name,
    search: isSearch
      ? { index: key === undefined ? index : 'rowid', equalities: equalitiesOf(terms) }
      : undefined,
    isPaged: !isSorted && (isLimited(sql, name) || isCounted(sql, tables.get(name) ?? name)),
  };
}

function equalitiesOf(terms: string): number | undefined {
  const each = terms.split(' AND ');
  return each.every((term) => term.endsWith('=?')) ? each.length : undefined;
}

const groupLine =
  /^(?:(CORRELATED )|(MULTI-INDEX OR|COMPOUND QUERY|MERGE|UNION)|(?:CO-ROUTINE|MATERIALIZE) (.+)$)?/;

function groupOf(detail: string, parts: readonly PlanPart[]): Group {
  const [, correlated, union, name] = groupLine.exec(detail) ?? [];
  return {
    kind: 'group',
    isCorrelated: correlated !== undefined,
    isUnion: union !== undefined,
    name,
    parts,
  };
}

/** Between the table and LIMIT stands at most an order: with no condition, rows are read as many as the page has. */
function isLimited(sql: string, alias: string): boolean {
  return [`as ${quoted(alias)} `, `from ${quoted(alias)} `].some((name) => {
    for (let at = sql.indexOf(name); at !== -1; at = sql.indexOf(name, at + 1)) {
      if (/^(?:order by [^()]*?)?limit /.test(sql.slice(at + name.length))) return true;
    }
    return false;
  });
}

/** SQLite counts a whole table without going through its rows. */
function isCounted(sql: string, table: string): boolean {
  return ['', ' as "count"'].some((name) => {
    const start = `select count(*)${name} from ${quoted(table)}`;
    const at = sql.indexOf(start);
    return at !== -1 && /^(?: as "\w+")?(?:\)|$)/.test(sql.slice(at + start.length));
  });
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

const source =
  /\b(?:from|join)\s+("(?:[^"]|"")+"|[\w$]+)(?:\s+(?:as\s+)?("(?:[^"]|"")+"|(?!(?:on|where|order|group|left|inner|cross|join|limit|using)\b)[a-z_$][\w$]*))?/gi;

/** The tables of a statement by the names that it gives them. */
function tablesOf(sql: string): ReadonlyMap<string, string> {
  const tables = new Map<string, string>();
  for (const [, table = '', alias = table] of sql.matchAll(source)) {
    tables.set(unquoted(alias), unquoted(table));
  }
  return tables;
}

function unquoted(name: string): string {
  return name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name;
}

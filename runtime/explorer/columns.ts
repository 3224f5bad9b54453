import { pathText } from './filter-text.js';
import {
  attributesAt,
  type ExplorerAttribute,
  type ExplorerDataclass,
  type ExplorerModel,
} from './model.js';

/** A column of the grid: an attribute, or one at the end of to-one relations. */
export interface Column {
  /** The path of its value in a row. */
  readonly path: string;
  /** The path as filters and orders name it. */
  readonly text: string;
  /** The attributes along the path. */
  readonly hops: readonly ExplorerAttribute[];
  /** The attribute at the end of the path. */
  readonly shown: ExplorerAttribute;
  /** In pixels; that of its kind if left out. */
  readonly width?: number;
}

/** More columns would not be read at once; the panel shows all attributes. */
const mostColumns = 12;

/**
 * The columns that the text of a place names, such as `name:240,employer.city`: paths with their
 * widths. What the session does not see is left out.
 */
export function columnsOf(
  model: ExplorerModel,
  dataclass: ExplorerDataclass,
  text: string,
): readonly Column[] {
  const named = text.split(',').flatMap((each) => {
    const [path = '', width] = each.split(':', 2);
    const found = columnAt(model, dataclass, path);
    if (found === undefined) return [];
    return width === undefined ? [found] : [{ ...found, width: Number(width) }];
  });
  return named.length > 0 ? named : suggested(model, dataclass);
}

/** The text of columns in a place. */
export function columnsText(columns: readonly Column[]): string {
  return columns
    .map(({ path, width }) => (width === undefined ? path : `${path}:${width}`))
    .join(',');
}

/** All columns of one dataclass: its values, and the names of related entities. */
export function possibleColumns(
  model: ExplorerModel,
  dataclass: ExplorerDataclass,
): readonly Column[] {
  return dataclass.attributes.flatMap(({ name, kind, target = '' }) => {
    const related = model.dataclasses.get(target);
    const path = kind === 'one' ? `${name}.${related?.label ?? related?.key ?? ''}` : name;
    return columnAt(model, dataclass, path) ?? [];
  });
}

/** UUIDs say nothing to people, unless there is nothing else. */
function suggested(model: ExplorerModel, dataclass: ExplorerDataclass): readonly Column[] {
  return possibleColumns(model, dataclass)
    .filter(({ shown }) => shown.kind !== 'uuid' || dataclass.label === undefined)
    .slice(0, mostColumns);
}

function columnAt(
  model: ExplorerModel,
  dataclass: ExplorerDataclass,
  path: string,
): Column | undefined {
  const names = path.split('.');
  const hops = attributesAt(model, dataclass, names);
  const shown = hops?.at(-1);
  if (hops === undefined || shown === undefined) return undefined;
  if (['one', 'many', 'blob'].includes(shown.kind)) return undefined;
  if (hops.slice(0, -1).some(({ kind }) => kind !== 'one')) return undefined;
  return { path, text: pathText(names), hops, shown };
}

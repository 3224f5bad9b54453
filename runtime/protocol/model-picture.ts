/** A dataclass in the picture of a model. */
export interface PicturedDataclass {
  readonly name: string;
  /** The lines of its box, in their order. */
  readonly attributes: readonly PicturedAttribute[];
}

export interface PicturedAttribute {
  readonly name: string;
  /** Dataclass to which it is a to-one relation: a line leads from the attribute to its box. */
  readonly target?: string;
}

export interface PictureBox {
  readonly name: string;
  readonly attributes: readonly string[];
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface PictureLine {
  /** Name of the relation. */
  readonly name: string;
  readonly from: string;
  readonly to: string;
  /** The path as SVG has it. */
  readonly path: string;
  /** The middle of the name. */
  readonly x: number;
  readonly y: number;
}

/** The picture of a model, in pixels. */
export interface ModelPicture {
  readonly width: number;
  readonly height: number;
  readonly boxes: readonly PictureBox[];
  readonly lines: readonly PictureLine[];
}

export const headHeight = 28;
export const lineHeight = 18;
/** A monospaced character of the lines. */
const characterWidth = 7;
const padding = 12;
const columnGap = 110;
const rowGap = 28;
const margin = 24;

/**
 * Lays out a model: a dataclass stands to the left of those to which its to-one relations lead, and
 * near them. The same model always gives the same picture.
 */
export function modelPicture(dataclasses: readonly PicturedDataclass[]): ModelPicture {
  const columns = ordered(dataclasses, columnsOf(dataclasses));
  const boxes = new Map<string, PictureBox>();
  let x = margin;
  for (const column of columns) {
    const width = Math.max(...column.map(widthOf));
    let y = margin;
    for (const each of column) {
      const height = headHeight + each.attributes.length * lineHeight + padding / 2;
      const attributes = each.attributes.map(({ name }) => name);
      boxes.set(each.name, { name: each.name, attributes, x, y, width, height });
      y += height + rowGap;
    }
    x += width + columnGap;
  }
  const all = [...boxes.values()];
  return {
    width: Math.max(0, ...all.map((each) => each.x + each.width)) + margin,
    height: Math.max(0, ...all.map((each) => each.y + each.height)) + margin,
    boxes: all,
    lines: dataclasses.flatMap((each) => linesOf(each, boxes)),
  };
}

function widthOf({ name, attributes }: PicturedDataclass): number {
  const longest = Math.max(name.length + 1, ...attributes.map((each) => each.name.length));
  return longest * characterWidth + 2 * padding;
}

/** Columns from left to right; a relation leads to a column further right, unless relations form a ring. */
function columnsOf(dataclasses: readonly PicturedDataclass[]): PicturedDataclass[][] {
  const byName = new Map(dataclasses.map((each) => [each.name, each]));
  const ranks = new Map<string, number>();
  const rankOf = (each: PicturedDataclass, above: ReadonlySet<string>): number => {
    const known = ranks.get(each.name);
    if (known !== undefined) return known;
    const within = new Set([...above, each.name]);
    const behind = each.attributes.flatMap(({ target = '' }) => {
      const next = byName.get(target);
      return next === undefined || within.has(target) ? [] : [rankOf(next, within) + 1];
    });
    const rank = Math.max(0, ...behind);
    ranks.set(each.name, rank);
    return rank;
  };
  for (const each of dataclasses) rankOf(each, new Set());
  const most = Math.max(0, ...ranks.values());
  const columns = Array.from({ length: most + 1 }, (): PicturedDataclass[] => []);
  for (const each of dataclasses) columns[most - (ranks.get(each.name) ?? 0)]?.push(each);
  return columns;
}

/** Orders each column by where the neighbours of its dataclasses stand, so that few lines cross. */
function ordered(
  dataclasses: readonly PicturedDataclass[],
  columns: PicturedDataclass[][],
): PicturedDataclass[][] {
  const neighbours = new Map<string, string[]>(dataclasses.map(({ name }) => [name, []]));
  for (const { name, attributes } of dataclasses) {
    for (const { target = '' } of attributes) {
      if (target === name || !neighbours.has(target)) continue;
      neighbours.get(name)?.push(target);
      neighbours.get(target)?.push(name);
    }
  }
  const places = new Map<string, number>();
  const place = (column: readonly PicturedDataclass[]): void => {
    for (const [index, { name }] of column.entries()) {
      places.set(name, (index + 0.5) / column.length);
    }
  };
  columns.forEach(place);
  const weightOf = ({ name }: PicturedDataclass): number => {
    const near = neighbours.get(name) ?? [];
    const sum = near.reduce((total, each) => total + (places.get(each) ?? 0), 0);
    return near.length === 0 ? 1 : sum / near.length;
  };
  let sorted = columns;
  for (const order of [columns.keys(), [...columns.keys()].reverse(), columns.keys()]) {
    sorted = [...sorted];
    for (const index of order) {
      const column = (sorted[index] ?? []).toSorted((a, b) => weightOf(a) - weightOf(b));
      sorted[index] = column;
      place(column);
    }
  }
  return sorted;
}

function linesOf(
  { name, attributes }: PicturedDataclass,
  boxes: ReadonlyMap<string, PictureBox>,
): readonly PictureLine[] {
  const own = boxes.get(name);
  return attributes.flatMap((attribute, index) => {
    const target = boxes.get(attribute.target ?? '');
    if (own === undefined || target === undefined) return [];
    const y = own.y + headHeight + (index + 0.5) * lineHeight;
    const to = target.y + headHeight / 2;
    // A line leaves at the side of its target; to the same column, it leaves and arrives at the right.
    const isBack = target.x < own.x;
    const isBeside = target.x === own.x;
    const from = isBack ? own.x : own.x + own.width;
    const end = isBack || isBeside ? target.x + target.width : target.x;
    const bend = isBeside ? columnGap / 2 : (end - from) / 2;
    const first = (isBeside ? Math.max(from, end) : from) + bend;
    const second = isBeside ? first : end - bend;
    const path = `M${from} ${y}C${first} ${y} ${second} ${to} ${end} ${to}`;
    const at = (from + 3 * first + 3 * second + end) / 8;
    const line = {
      name: attribute.name,
      from: name,
      to: target.name,
      path,
      x: at,
      y: (y + to) / 2,
    };
    return [line];
  });
}

// Positions of a graph's steps on the page: layers from left to right, each step right of all its
// dependencies. No two boxes overlap. An edge that skips a layer gets a free lane there, so that it crosses
// no box.
//
// A layer much taller than a screen is split into several columns; long edges then have no lanes.
import type { Step } from '../../config/step.ts';

export const BOX = { width: 210, height: 42 } as const;
const GAP = { column: 90, row: 16, lane: 12 } as const;
/** Taller columns are split, so that the page is about as wide as a screen. */
const SHAPE = 1.7;
const FEW_ROWS = 24;
const SWEEPS = 8;

interface Point {
  readonly x: number;
  readonly y: number;
}

interface DrawnEdge {
  readonly from: number;
  readonly to: number;
  /** The bends between its two boxes. */
  readonly via: readonly Point[];
  /** A longer path through other steps connects the same boxes. */
  readonly isShortcut: boolean;
}

interface Layout {
  readonly width: number;
  readonly height: number;
  /** The upper left corner of each step's box, by the step's index. */
  readonly places: readonly Point[];
  readonly edges: readonly DrawnEdge[];
}

type Ordered = Pick<Step, 'id' | 'dependsOn' | 'package' | 'name'>;

/** A box, or the lane of an edge in a layer that it skips. */
interface Cell {
  readonly layer: number;
  readonly height: number;
  readonly before: Cell[];
  readonly after: Cell[];
  y: number;
}

/** `order`: topological. */
export function layoutOf(order: readonly Ordered[]): Layout {
  const links = linksOf(order);
  const linked = new Set(links.flatMap(({ from, to }) => [from, to]));
  const isSplit = linked.size > 0 && order.length > FEW_ROWS;
  const alone = isSplit ? order.map((_, at) => at).filter((at) => !linked.has(at)) : [];
  const members = order.map((_, at) => at).filter((at) => !alone.includes(at));
  return withAlone(order, alone, members, layered(members, order, links));
}

/** Lays out `members` in layers. */
function layered(members: readonly number[], order: readonly Ordered[], links: readonly Link[]): Layout {
  const places = new Map(members.map((at, place) => [at, place]));
  const steps = members.flatMap((at) => order[at] ?? []);
  const own = links.map((link) => ({
    ...link,
    from: places.get(link.from) ?? 0,
    to: places.get(link.to) ?? 0,
  }));
  const layers = layersOf(steps.length, own);
  const tallest = Math.max(
    1,
    ...Map.groupBy(layers, (layer) => layer)
      .values()
      .map((all) => all.length),
  );
  const rows = Math.max(FEW_ROWS, Math.ceil(Math.sqrt((order.length * BOX.width) / BOX.height / SHAPE)));
  return tallest > rows ? inColumns(steps, own, layers, rows) : inLanes(steps, own, layers);
}

/** Steps without any edge stand in rows below the others. */
function withAlone(
  order: readonly Ordered[],
  alone: readonly number[],
  members: readonly number[],
  { width, height, places, edges }: Layout,
): Layout {
  const all = order.map((): Point => ({ x: 0, y: 0 }));
  members.forEach((at, place) => {
    all[at] = places[place] ?? { x: 0, y: 0 };
  });
  const [across, down] = [BOX.width + GAP.row, BOX.height + GAP.row];
  const columns = Math.max(1, Math.floor((width + GAP.row) / across));
  const sorted = alone.toSorted((a, b) => byName(order[a] ?? NO_STEP, order[b] ?? NO_STEP));
  sorted.forEach((at, place) => {
    all[at] = { x: (place % columns) * across, y: height + GAP.column + Math.floor(place / columns) * down };
  });
  const rows = Math.ceil(alone.length / columns);
  return {
    width,
    height: rows === 0 ? height : height + GAP.column + rows * down - GAP.row,
    places: all,
    edges: edges.map((edge) => ({ ...edge, from: members[edge.from] ?? 0, to: members[edge.to] ?? 0 })),
  };
}

const NO_STEP: Ordered = { id: '', dependsOn: [], package: '', name: '' };

interface Link {
  readonly from: number;
  readonly to: number;
  readonly isShortcut: boolean;
}

function linksOf(order: readonly Ordered[]): Link[] {
  const places = new Map(order.map(({ id }, at) => [id, at]));
  const before = order.map(({ dependsOn }) => [...new Set(dependsOn)].flatMap((id) => places.get(id) ?? []));
  /** All transitive dependencies of a step. */
  const behind: Set<number>[] = [];
  for (const direct of before) behind.push(new Set(direct.flatMap((one) => [one, ...(behind[one] ?? [])])));
  return before.flatMap((direct, to) =>
    direct.map((from) => ({
      from,
      to,
      isShortcut: direct.some((other) => other !== from && behind[other]?.has(from)),
    })),
  );
}

function layersOf(count: number, links: readonly Link[]): number[] {
  const layers = new Array<number>(count).fill(0);
  for (const { from, to } of links.toSorted((a, b) => a.to - b.to))
    layers[to] = Math.max(layers[to] ?? 0, (layers[from] ?? 0) + 1);
  return layers;
}

/* ---- with a lane for every long edge ---- */

function inLanes(order: readonly Ordered[], links: readonly Link[], layers: readonly number[]): Layout {
  const cells = layers.map((layer): Cell => ({ layer, height: BOX.height, before: [], after: [], y: 0 }));
  const drawn = links.map((link) => ({ link, lanes: lanesOf(link, cells) }));
  const columns: Cell[][] = [];
  const named = order.map((step, at) => ({ step, cell: cells[at] })).sort((a, b) => byName(a.step, b.step));
  for (const { cell } of named) if (cell) columnOf(columns, cell.layer).push(cell);
  for (const { lanes } of drawn) for (const lane of lanes) columnOf(columns, lane.layer).push(lane);
  untangle(columns);
  settle(columns);
  const all = columns.flat();
  const top = Math.min(0, ...all.map(({ y }) => y));
  for (const cell of all) cell.y -= top;
  const x = (layer: number) => layer * (BOX.width + GAP.column);
  return {
    width: x(columns.length) - GAP.column,
    height: Math.max(BOX.height, ...all.map(({ y, height }) => y + height)),
    places: cells.map(({ layer, y }) => ({ x: x(layer), y })),
    edges: drawn.map(({ link, lanes }) => ({
      ...link,
      via: lanes.flatMap(({ layer, y, height }) => [
        { x: x(layer), y: y + height / 2 },
        { x: x(layer) + BOX.width, y: y + height / 2 },
      ]),
    })),
  };
}

function byName(a: Ordered, b: Ordered): number {
  return a.package.localeCompare(b.package) || a.name.localeCompare(b.name);
}

function columnOf(columns: Cell[][], layer: number): Cell[] {
  while (columns.length <= layer) columns.push([]);
  return columns[layer] ?? [];
}

function lanesOf({ from, to }: Link, cells: readonly Cell[]): Cell[] {
  const [first, last] = [cells[from], cells[to]];
  if (!first || !last) return [];
  const lanes: Cell[] = [];
  let at = first;
  for (let layer = first.layer + 1; layer < last.layer; layer++) {
    const lane: Cell = { layer, height: GAP.lane, before: [at], after: [], y: 0 };
    at.after.push(lane);
    lanes.push(lane);
    at = lane;
  }
  at.after.push(last);
  last.before.push(at);
  return lanes;
}

/** Moves each cell to the median of its neighbours, alternating sides, so that fewer edges cross. */
function untangle(columns: Cell[][]): void {
  for (const column of columns) stack(column);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const isForward = sweep % 2 === 0;
    for (const column of isForward ? columns : columns.toReversed()) {
      const wish = new Map(
        column.map((cell) => [cell, middleOf(isForward ? cell.before : cell.after) ?? cell.y]),
      );
      column.sort((a, b) => (wish.get(a) ?? 0) - (wish.get(b) ?? 0));
      stack(column);
    }
  }
}

function stack(column: readonly Cell[]): void {
  let y = 0;
  for (const cell of column) {
    cell.y = y;
    y += cell.height + GAP.row;
  }
}

function middleOf(cells: readonly Cell[]): number | undefined {
  if (cells.length === 0) return undefined;
  return cells.reduce((sum, { y, height }) => sum + y + height / 2, 0) / cells.length;
}

/**
 * Moves cells towards their neighbours without changing their order: first down, then up where there is
 * space.
 */
function settle(columns: readonly (readonly Cell[])[]): void {
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const isForward = sweep % 2 === 0;
    for (const column of isForward ? columns : columns.toReversed()) {
      const wishes = column.map((cell) => {
        const middle =
          middleOf(isForward ? cell.before : cell.after) ?? middleOf([...cell.before, ...cell.after]);
        return middle === undefined ? cell.y : middle - cell.height / 2;
      });
      place(column, wishes);
    }
  }
}

/**
 * As near to the wished positions as the order allows: cells pushed down together move up together by half.
 */
function place(column: readonly Cell[], wishes: readonly number[]): void {
  let end = Number.NEGATIVE_INFINITY;
  column.forEach((cell, at) => {
    cell.y = Math.max(wishes[at] ?? 0, end);
    end = cell.y + cell.height + GAP.row;
  });
  const pushed = column.reduce((sum, cell, at) => sum + cell.y - (wishes[at] ?? 0), 0);
  const shift = column.length === 0 ? 0 : pushed / column.length;
  for (const cell of column) cell.y -= shift;
}

/* ---- in columns of a bounded height ---- */

function inColumns(
  order: readonly Ordered[],
  links: readonly Link[],
  layers: readonly number[],
  rows: number,
): Layout {
  const places = order.map((): Point => ({ x: 0, y: 0 }));
  const pitch = BOX.height + GAP.row;
  let x = 0;
  for (let layer = 0; layer <= Math.max(0, ...layers); layer++) {
    const members = order
      .map((step, at) => ({ step, at }))
      .filter(({ at }) => layers[at] === layer)
      .sort((a, b) => byName(a.step, b.step));
    members.forEach(({ at }, row) => {
      const column = Math.floor(row / rows);
      places[at] = { x: x + column * (BOX.width + GAP.row), y: (row % rows) * pitch };
    });
    x += Math.ceil(members.length / rows) * (BOX.width + GAP.row) - GAP.row + GAP.column;
  }
  return {
    width: x - GAP.column,
    height: Math.min(rows, order.length) * pitch - GAP.row,
    places,
    edges: links.map((link) => ({ ...link, via: [] })),
  };
}

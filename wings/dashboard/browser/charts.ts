// Charts, drawn by uPlot in the colours of the page. The numbers are in a table beside each.
import type UPlot from 'uplot';

declare const uPlot: typeof UPlot;

const HEIGHT = 220;

interface Lookups {
  /** Seconds since 1970. */
  readonly x: number[];
  readonly hits: number[];
  readonly misses: number[];
}

export function startCharts(): void {
  for (const frame of document.querySelectorAll<HTMLElement>('[data-chart]')) {
    const data: Lookups = JSON.parse(frame.dataset.chart ?? '');
    frame.hidden = false;
    let chart = draw(frame, data);
    new ResizeObserver(() => chart.setSize({ width: widthOf(frame), height: HEIGHT })).observe(frame);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      chart.destroy();
      chart = draw(frame, data);
    });
  }
}

function widthOf(frame: HTMLElement): number {
  const { paddingLeft, paddingRight } = getComputedStyle(frame);
  return frame.clientWidth - Number.parseFloat(paddingLeft) - Number.parseFloat(paddingRight);
}

/** Misses stand on hits: the height of a bar is the number of lookups. */
function draw(frame: HTMLElement, { x, hits, misses }: Lookups): UPlot {
  const colour = (name: string) => getComputedStyle(frame).getPropertyValue(name).trim();
  const bars = uPlot.paths.bars?.({ size: [0.8, 24] });
  const points = { show: false };
  const axis = {
    stroke: colour('--faint'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
  };
  const options: UPlot.Options = {
    width: widthOf(frame),
    height: HEIGHT,
    /* The last time of the axis stands in the middle of its tick. */
    padding: [null, 32, null, null],
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    scales: { y: { range: (_chart, _min, max) => [0, Math.max(1, max * 1.05)] } },
    axes: [
      { ...axis, space: 80, grid: { show: false }, values: (_chart, splits) => splits.map(timeOfDay) },
      { ...axis, size: 56, values: (_chart, splits) => splits.map((value) => value.toLocaleString('en-US')) },
    ],
    series: [
      { label: 'Time', value: (_chart, at) => (at === null ? '–' : timeOfDay(at)) },
      {
        label: 'Misses',
        fill: colour('--note-fill'),
        width: 0,
        points,
        ...(bars && { paths: bars }),
        value: (_chart, _total, _series, at) => (at === null ? '–' : String(misses[at])),
      },
      {
        label: 'Hits',
        fill: colour('--accent-fill'),
        width: 0,
        points,
        ...(bars && { paths: bars }),
        value: (_chart, _total, _series, at) => (at === null ? '–' : String(hits[at])),
      },
    ],
  };
  const totals = hits.map((hit, index) => hit + (misses[index] ?? 0));
  return new uPlot(options, [x, totals, hits], frame);
}

/** In UTC, as the table beside it and the days of all pages. */
function timeOfDay(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(11, 16);
}

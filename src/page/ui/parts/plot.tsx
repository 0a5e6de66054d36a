import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';

/** One row of bars, stacked upon those before it. */
export interface Series {
  readonly name: string;
  readonly values: readonly number[];
  /** Name of the custom property of the style sheet that holds its colour. */
  readonly colour: string;
}

const HEIGHT = 220;
const LABELS_APART = 64;

/**
 * Bars by day, stacked. It is drawn on a canvas, which nobody can read aloud: whoever uses it puts the same figures into
 * a table beside it.
 */
export function DayBars({
  days,
  series,
  label,
  tick,
}: {
  days: readonly string[];
  series: readonly Series[];
  label: (day: string) => string;
  tick: (value: number) => string;
}) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const box = place.current;
    if (!box) return;
    const draw = (): uPlot => new uPlot(optionsFor(box, days, series, label, tick), dataOf(days, series), box);
    let plot = draw();
    const again = (): void => {
      plot.destroy();
      plot = draw();
    };
    const sized = new ResizeObserver(() => {
      if (Math.abs(box.clientWidth - plot.width) > 1) plot.setSize({ width: box.clientWidth, height: HEIGHT });
    });
    sized.observe(box);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', again);
    addEventListener('themechange', again);
    return () => {
      sized.disconnect();
      dark.removeEventListener('change', again);
      removeEventListener('themechange', again);
      plot.destroy();
    };
  }, [days, series]);
  return <div class="plot" ref={place} aria-hidden="true" />;
}

/** Each row on top of those before it; the tallest is drawn first, so that the others stand before it. */
function dataOf(days: readonly string[], series: readonly Series[]): uPlot.AlignedData {
  const sums = days.map(() => 0);
  const stacked = series.map(({ values }) => values.map((value, i) => (sums[i] = (sums[i] ?? 0) + value)));
  return [days.map((_, i) => i), ...stacked.reverse()];
}

function optionsFor(
  box: HTMLElement,
  days: readonly string[],
  series: readonly Series[],
  label: (day: string) => string,
  tick: (value: number) => string,
): uPlot.Options {
  const { fontFamily } = getComputedStyle(box);
  const colour = (name: string): string => colourOf(box, name);
  const axis = { stroke: colour('--muted'), font: `12px ${fontFamily}`, ticks: { show: false } };
  const bars = uPlot.paths.bars?.({ size: [0.72, 28], radius: 0.15 });
  return {
    width: box.clientWidth || 300,
    height: HEIGHT,
    padding: [12, 20, 0, 0],
    cursor: { show: false },
    legend: { show: false },
    scales: {
      x: { time: false, range: [-0.6, days.length - 0.4] },
      y: { range: (_, __, max) => [0, max > 0 ? max * 1.08 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 34,
        splits: (plot) => {
          const step = Math.max(1, Math.ceil((days.length * LABELS_APART) / Math.max(1, plot.width)));
          return days.map((_, i) => i).filter((i) => (days.length - 1 - i) % step === 0);
        },
        values: (_, splits) => splits.map((i) => label(days[i] ?? '')),
      },
      {
        ...axis,
        size: 56,
        grid: { stroke: colour('--line'), width: 1 },
        values: (_, splits) => splits.map(tick),
      },
    ],
    series: [
      {},
      ...series.toReversed().map(
        (one): uPlot.Series => ({
          label: one.name,
          fill: colour(one.colour),
          width: 0,
          points: { show: false },
          paths: bars,
        }),
      ),
    ],
  };
}

/** A colour of the style sheet as a canvas understands it: of the scheme that holds now. */
function colourOf(box: HTMLElement, name: string): string {
  box.style.color = `var(${name})`;
  const { color } = getComputedStyle(box);
  box.style.color = '';
  return color;
}

/** The colours of a plot with their names. */
export function Legend({ series }: { series: readonly Series[] }) {
  return (
    <ul class="legend">
      {series.map(({ name, colour }) => (
        <li key={name}>
          <i aria-hidden="true" style={{ background: `var(${colour})` }} />
          {name}
        </li>
      ))}
    </ul>
  );
}

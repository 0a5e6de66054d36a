import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';

export interface Series {
  readonly name: string;
  readonly values: readonly number[];
  /** Name of the CSS custom property with its colour. */
  readonly colour: string;
  readonly isLine?: boolean;
}

interface PlotProps {
  readonly days: readonly string[];
  /** From bottom to top. */
  readonly series: readonly Series[];
  readonly kind: 'areas' | 'bars';
  readonly label: (day: string) => string;
  readonly tick: (value: number) => string;
  readonly ticksOf?: ((values: readonly number[]) => (value: number) => string) | undefined;
}

const HEIGHT = 230;
const LABELS_APART = 64;

/**
 * Stacked chart by day. The figures of the day under the pointer are shown below. Screen readers cannot read a canvas,
 * so callers add the same figures as a table.
 */
export function DayPlot(props: PlotProps) {
  const { days, series, kind } = props;
  const place = useRef<HTMLDivElement>(null);
  const readout = useRef<HTMLParagraphElement>(null);
  useEffect(() => {
    const box = place.current;
    if (!box) return;
    const read = (index: number | null): void => {
      if (readout.current) readout.current.textContent = index === null ? '' : wordsOf(props, index);
    };
    const draw = (): uPlot => new uPlot(optionsFor(box, props, read), dataOf(days, series), box);
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
  }, [days, series, kind]);
  return (
    <div aria-hidden="true">
      <div class="plot" ref={place} />
      <p class="readout quiet small" ref={readout} />
    </div>
  );
}

function wordsOf({ days, series, label, tick }: PlotProps, index: number): string {
  const parts = series
    .filter(({ values }) => (values[index] ?? 0) !== 0)
    .map(({ name, values }) => `${name} ${tick(values[index] ?? 0)}`);
  return `${label(days[index] ?? '')}: ${parts.length === 0 ? 'nothing' : parts.join(', ')}`;
}

/** Lines first; then cumulated parts, tallest first, so that the others are drawn over them. */
function dataOf(days: readonly string[], series: readonly Series[]): uPlot.AlignedData {
  const sums = days.map(() => 0);
  const stacked = series
    .filter(({ isLine }) => !isLine)
    .map(({ values }) => values.map((value, i) => (sums[i] = (sums[i] ?? 0) + value)));
  const lines = series.filter(({ isLine }) => isLine).map(({ values }) => [...values]);
  return [days.map((_, i) => i), ...stacked.reverse(), ...lines];
}

function optionsFor(
  box: HTMLElement,
  { days, series, kind, label, tick, ticksOf }: PlotProps,
  onRead: (index: number | null) => void,
): uPlot.Options {
  const bars = kind === 'bars' ? uPlot.paths.bars?.({ size: [0.72, 28], radius: 0.15 }) : undefined;
  const half = kind === 'bars' ? 0.6 : 0.1;
  const drawn = ({ name, colour, isLine }: Series): uPlot.Series => {
    const common = { label: name, points: { show: false } };
    const of = colourOf(box, colour);
    if (isLine) return { ...common, stroke: of, width: 2, dash: [5, 4] };
    return { ...common, fill: of, width: 0, ...(bars && { paths: bars }) };
  };
  return {
    width: box.clientWidth || 300,
    height: HEIGHT,
    padding: [12, 20, 0, 0],
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    legend: { show: false },
    hooks: { setCursor: [({ cursor }) => onRead(cursor.idx ?? null)] },
    scales: {
      x: { time: false, range: [-half, days.length - 1 + half] },
      y: { range: (_, __, max) => [0, max > 0 ? max * 1.08 : 1] },
    },
    axes: axesFor(box, { days, series, label, tick, ticksOf }),
    // in the order of `dataOf`
    series: [
      {},
      ...series
        .filter(({ isLine }) => !isLine)
        .toReversed()
        .map(drawn),
      ...series.filter(({ isLine }) => isLine).map(drawn),
    ],
  };
}

function axesFor(
  box: HTMLElement,
  { days, series, label, tick, ticksOf = () => tick }: Omit<PlotProps, 'kind'>,
): uPlot.Axis[] {
  const { fontFamily } = getComputedStyle(box);
  const axis = { stroke: colourOf(box, '--muted'), font: `12px ${fontFamily}`, ticks: { show: false } };
  // an axis without values would show made-up steps between 0 and 1
  const isEmpty = series.every(({ values }) => values.every((value) => value === 0));
  return [
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
      grid: { stroke: colourOf(box, '--line'), width: 1 },
      values: (_, splits) => {
        const words = ticksOf(splits);
        return splits.map((at) => (isEmpty && at > 0 ? '' : words(at)));
      },
    },
  ];
}

/** Resolves a style-sheet colour for a canvas, in the current colour scheme. */
function colourOf(box: HTMLElement, name: string): string {
  box.style.color = `var(${name})`;
  const { color } = getComputedStyle(box);
  box.style.color = '';
  return color;
}

export function Legend({ series }: { series: readonly Series[] }) {
  return (
    <ul class="legend">
      {series.map(({ name, colour, isLine }) => (
        <li key={name}>
          <i aria-hidden="true" class={isLine ? 'line-mark' : ''} style={{ background: `var(${colour})` }} />
          {name}
        </li>
      ))}
    </ul>
  );
}

const SPARK_WIDTH = 96;
const SPARK_HEIGHT = 22;

/** Sparkline; its figures are shown elsewhere. */
export function Spark({ values }: { values: readonly number[] | undefined }) {
  if (!values || values.length < 2) return null;
  const top = Math.max(...values, Number.MIN_VALUE);
  const points = values.map((value, i) => {
    const x = (i / (values.length - 1)) * SPARK_WIDTH;
    return `${x.toFixed(1)},${(SPARK_HEIGHT - 2 - (Math.max(0, value) / top) * (SPARK_HEIGHT - 4)).toFixed(1)}`;
  });
  return (
    <svg class="spark" viewBox={`0 0 ${SPARK_WIDTH} ${SPARK_HEIGHT}`} aria-hidden="true">
      <polygon points={`0,${SPARK_HEIGHT} ${points.join(' ')} ${SPARK_WIDTH},${SPARK_HEIGHT}`} />
      <polyline points={points.join(' ')} />
    </svg>
  );
}

import { useEffect, useRef, useState } from 'preact/hooks';

/** Selects one of several values; the first entry removes the filter. */
export function Choose({
  label,
  any,
  values,
  value,
  onChoose,
}: {
  label: string;
  /** Label for no selection, such as `all projects`; absent if a selection is required. */
  any?: string;
  values: readonly (string | readonly [value: string, name: string])[];
  value: string;
  onChoose: (value: string) => void;
}) {
  const known = values.map((one) => (typeof one === 'string' ? ([one, one] as const) : one));
  const isUnknown = value !== '' && !known.some(([one]) => one === value);
  return (
    <label class="choose">
      <span class="unseen">{label}</span>
      <select value={value} onChange={(event) => onChoose(event.currentTarget.value)}>
        {any !== undefined && <option value="">{any}</option>}
        {isUnknown && <option value={value}>{value}</option>}
        {known.map(([one, name]) => (
          <option key={one} value={one}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

interface FacetProps {
  readonly name: string;
  readonly label?: string;
  /** Label for no selection. */
  readonly any: string;
  readonly values: readonly string[];
  readonly value: string | undefined;
  onChange(change: Readonly<Record<string, string>>): void;
}

/** A filter by one of the values that rows have; absent if there is no choice. */
export function Facet({ name, label = name, any, values, value = '', onChange }: FacetProps) {
  if (values.length <= 1 && value === '') return null;
  return (
    <Choose label={label} any={any} values={values} value={value} onChoose={(chosen) => onChange({ [name]: chosen })} />
  );
}

const TYPING_MS = 250;

/** A debounced search field. The key `/` focuses it. */
export function SearchField({
  label,
  value,
  onWords,
}: {
  label: string;
  value: string;
  onWords: (words: string) => void;
}) {
  const [typed, setTyped] = useState(value);
  const last = useRef(value);
  useEffect(() => {
    if (value !== last.current) setTyped(value);
    last.current = value;
  }, [value]);
  useEffect(() => {
    if (typed === last.current) return;
    const timer = setTimeout(() => {
      last.current = typed;
      onWords(typed);
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <input
      type="search"
      data-search
      aria-label={label}
      placeholder={label}
      value={typed}
      onInput={(event) => setTyped(event.currentTarget.value)}
    />
  );
}

const SPANS = [7, 30, 90] as const;
const DEFAULT_SPAN = 30;

export function spanOf(days: string | undefined): number {
  return SPANS.find((span) => String(span) === days) ?? DEFAULT_SPAN;
}

interface ProjectAndSpanProps {
  readonly projects: readonly string[];
  /** `''` for all projects. */
  readonly project: string;
  readonly days: number;
  onChange(change: { readonly project?: string; readonly days?: string }): void;
}

export function ProjectAndSpan({ projects, project, days, onChange }: ProjectAndSpanProps) {
  return (
    <>
      <Facet name="project" label="Project" any="all projects" values={projects} value={project} onChange={onChange} />
      <Span days={days} onChoose={(value) => onChange({ days: value })} />
    </>
  );
}

function Span({ days, onChoose }: { days: number; onChoose: (days: string) => void }) {
  const values = SPANS.map((span) => [String(span), `${span} days`] as const);
  return <Choose label="Time" values={values} value={String(days)} onChoose={onChoose} />;
}

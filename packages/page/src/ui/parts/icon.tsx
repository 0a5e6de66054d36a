/** SVG paths on a 20 × 20 grid, drawn with one stroke. */
const PATHS: Readonly<Record<string, string>> = {
  overview: 'M3 17V9m5 8V4m5 13v-6m4 6V7',
  live: 'M2 10h4l2-6 4 12 2-6h4',
  conversations: 'M4 4h12v9H9l-4 3v-3H4z',
  tools: 'M4 6h12M4 10h8M4 14h5m4 1 2 2 3-5',
  store: 'M4 5c0-1 3-2 6-2s6 1 6 2v10c0 1-3 2-6 2s-6-1-6-2zm0 0c0 1 3 2 6 2s6-1 6-2M4 10c0 1 3 2 6 2s6-1 6-2',
  settings: 'M3 6h8m4 0h2M3 14h2m4 0h8M13 4v4M7 12v4',
  doctor: 'M10 4v12M4 10h12',
  auto: 'M10 3a7 7 0 1 0 0 14zm0 0a7 7 0 0 1 0 14',
  light:
    'M10 7a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM10 2v2m0 12v2M2 10h2m12 0h2M4.500 4.500l1.400 1.400m8.200 8.200 1.400 1.400m0-11-1.400 1.400M5.900 14.100l-1.400 1.400',
  dark: 'M16 12.500A7 7 0 0 1 7.500 4 7 7 0 1 0 16 12.500z',
  user: 'M10 4a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM4 17c0-3 3-5 6-5s6 2 6 5',
  assistant: 'M10 3v3M4 7h12v9H4zm3 4v1m6-1v1',
  tool: 'M12 4a4 4 0 0 0-4 5l-5 5 2.500 2.500 5-5a4 4 0 0 0 5-5L13 9l-2-2z',
  pin: 'M7 3h6l-1 6 3 2v1H5v-1l3-2zM10 12v5',
};

/** @param drawing - path of an icon that is not in the table */
export function Icon({ name, drawing = PATHS[name] }: { name: string; drawing?: string | undefined }) {
  return (
    <svg class="icon" viewBox="0 0 20 20" aria-hidden="true">
      <path d={drawing ?? PATHS.tool ?? ''} />
    </svg>
  );
}

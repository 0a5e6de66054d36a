import { useEffect, useState } from 'preact/hooks';

export type Theme = 'auto' | 'light' | 'dark';
const KEY = 'mcp-pruner-theme';
const NEXT: Readonly<Record<Theme, Theme>> = { auto: 'light', light: 'dark', dark: 'auto' };

function kept(): Theme {
  try {
    const value = localStorage.getItem(KEY);
    return value === 'light' || value === 'dark' ? value : 'auto';
  } catch {
    return 'auto';
  }
}

/** Light, dark, or as the system has it; remembered by this browser. */
export function useTheme(): readonly [Theme, () => void] {
  const [theme, setTheme] = useState(kept);
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      // the browser stores nothing: the choice lasts as long as the page is open
    }
    dispatchEvent(new Event('themechange'));
  }, [theme]);
  return [theme, () => setTheme(NEXT[theme])];
}

import { useEffect, useState } from 'preact/hooks';

let show: (text: string) => void = () => {};

/** Shows a short-lived message; screen readers announce it. */
export function say(text: string): void {
  show(text);
}

const SHOWN_MS = 6_000;

export function Toasts() {
  const [text, setText] = useState('');
  show = setText;
  useEffect(() => {
    if (text === '') return;
    const timer = setTimeout(() => setText(''), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <div class={text === '' ? 'toast' : 'toast on'} role="status" aria-live="polite">
      {text}
    </div>
  );
}

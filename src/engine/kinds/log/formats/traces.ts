import type { LogFormat } from '../format.ts';

/** Stack traces of Python, Java, JavaScript, Go and Rust. */
export const traces: LogFormat = [
  {
    name: 'trace-open',
    pattern:
      /^\s*(?:Traceback \(most recent|goroutine \d+ \[|stack backtrace:)|^\s*(?:Caused by: |Exception in thread )|^\s*(?:[\w$]+\.)*[A-Z]\w*(?:Exception|Error)\b/,
  },
  {
    name: 'trace-frame',
    pattern: /^\s+at \S|^\s*File ".*", line \d+|^\s+\d+: +\S|^\s+\.\.\. \d+ more|^\s*Caused by: |^\s*Suppressed: /,
  },
  { name: 'trace-end', pattern: /^\s*[\w.]+(?:Error|Exception|Exit|Interrupt|Warning)?\b(?::|$)/ },
  {
    name: 'frames',
    pattern: /^\s+at .+[(:]\S*\d|^\s*File ".*", line \d+|^\s+\d+: 0x|^goroutine \d+ |^Caused by: |^Traceback \(/,
  },
];

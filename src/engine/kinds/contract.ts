import type { SourceType } from '../types.ts';
import { protectDeclarations } from './code/protect.ts';
import { protectHeadings } from './headings.ts';
import type { Protect, Protectable } from './kind.ts';
import { protectLog } from './log/protect.ts';

const BY_SOURCE_TYPE: Readonly<Record<SourceType, (text: Protectable, protect: Protect) => void>> = {
  code: protectDeclarations,
  docs: protectHeadings,
  logs: protectLog,
};

/** Protects lines as required by the contract for a source type, independent of the detected kind. */
export function protectByContract(text: Protectable, protect: Protect): void {
  BY_SOURCE_TYPE[text.sourceType](text, protect);
}

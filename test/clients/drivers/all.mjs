import { claudeDrivers } from './claude.mjs';
import { clineDrivers } from './cline.mjs';
import { codexDrivers } from './codex.mjs';
import { continueDrivers } from './continue.mjs';
import { copilotDrivers } from './copilot.mjs';
import { geminiDrivers } from './gemini.mjs';
import { opencodeDrivers } from './opencode.mjs';
import { piDrivers } from './pi.mjs';
import { qwenDrivers } from './qwen.mjs';
import { sdkDrivers } from './sdk.mjs';

/** Every set-up, in the order they run. */
export const drivers = [
  ...sdkDrivers,
  ...piDrivers,
  ...qwenDrivers,
  ...clineDrivers,
  ...opencodeDrivers,
  ...continueDrivers,
  ...claudeDrivers,
  ...codexDrivers,
  ...copilotDrivers,
  ...geminiDrivers,
];

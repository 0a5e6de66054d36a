import { afterEach } from 'vitest';
import { cleanUp } from './afterwards.ts';

// here, since it runs for each test file: modules that files share are loaded once, and so would be what they register
afterEach(cleanUp);

import { optional, plainText, share } from '../rules.ts';
import { setting } from './setting.ts';

export const ledgerSettings = {
  prices: setting({
    common: true,
    rule: optional(plainText('a file path')),
    fallback: null,
    fallbackWords: 'only config/prices.toml of this installation',
    doc: 'A TOML file like config/prices.toml. Its rows come first; with replace = true at its top, they replace the built-in ones.',
  }),
  holdout: setting({
    common: true,
    rule: share(),
    fallback: 0,
    flag: 'holdout',
    doc: 'Share of conversations left unpruned from their first request, as a control group.',
  }),
};

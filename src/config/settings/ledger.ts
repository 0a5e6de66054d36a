import { onOff, optional, plainText, share } from '../rules.ts';
import { setting } from './setting.ts';

/** Costs of requests, and effects of pruning. */
export const ledgerSettings = {
  prices: setting({
    rule: optional(plainText('a file path')),
    fallback: null,
    fallbackWords: 'only config/prices.toml of this installation',
    doc: 'A TOML file of prices, in the form of config/prices.toml. Its rows are tried before those; with replace = true at its top they are left out.',
  }),
  holdout: setting({
    rule: share(),
    fallback: 0,
    flag: 'holdout',
    doc: 'Share of conversations that are left whole from their first request, to compare the cost of the others with.',
  }),
  learn: setting({
    rule: onOff(),
    fallback: true,
    doc: 'Cut more mildly what is regretted often, by project, tool and kind, and more boldly what hardly ever is. Off: what was learnt holds no more for what is new.',
  }),
  corrections: setting({
    rule: onOff(),
    fallback: true,
    doc: 'Count messages in which the user corrects the model, by a short list of English words, to compare pruned conversations with those that were left whole. Only the count is kept.',
  }),
  verify: setting({
    rule: share(),
    fallback: 0,
    doc: 'Share of pruned requests on /v1/messages for which the provider is asked how many tokens they would have had (count_tokens, free, with the key of the client, once the answer is through).',
  }),
};

import { describe, expect, it } from 'vitest';
import { decisionKey, type Job } from '../../src/core/decide/decision.ts';
import { textHash } from '../../src/core/hash.ts';

const JOB: Job = {
  text: 'a text\n',
  textHash: textHash('a text\n'),
  goal: 'why does it fail?',
  hints: { origin: 'command', command: 'npm test', frameHead: 1 },
  limits: { maxPruneRatio: 0.9, minKeepLines: 20 },
  tool: 'bash',
  caller: 'proxy',
};

describe('the key of a decision', () => {
  // Stores and other replicas hold decisions under it: an upgrade must find them again.
  it('is the same in every version', () => {
    expect(decisionKey(JOB)).toBe('ef891d6cf19a7fd9953d8c031f700489');
    expect(decisionKey(JOB, 'deepinfra')).toBe('5ae793c8d9cccfccd07e38c53d564c27');
  });

  it.each<[string, Job]>([
    ['text', { ...JOB, textHash: textHash('another') }],
    ['goal', { ...JOB, goal: 'why does it not fail?' }],
    ['origin', { ...JOB, hints: { ...JOB.hints, origin: 'read' } }],
    ['path', { ...JOB, hints: { ...JOB.hints, path: 'a.ts' } }],
    ['command', { ...JOB, hints: { ...JOB.hints, command: 'npm run test' } }],
    ['frame', { ...JOB, hints: { ...JOB.hints, frameHead: 2 } }],
    ['largest share', { ...JOB, limits: { ...JOB.limits, maxPruneRatio: 0.8 } }],
    ['fewest lines', { ...JOB, limits: { ...JOB.limits, minKeepLines: 21 } }],
    ['kind of source', { ...JOB, sourceType: 'logs' }],
    ['reason to stay whole', { ...JOB, keepWhole: 'reread' }],
    ['way back', { ...JOB, recoveryHint: 'tool' }],
    ['other way back', { ...JOB, recoveryHint: 'shell' }],
    ['caller', { ...JOB, caller: 'call' }],
    ['mode for small texts', { ...JOB, small: true }],
    ['recovered lines', { ...JOB, hints: { ...JOB.hints, served: [{ startLine: 1, endLine: 1 }] } }],
    ['frame tail', { ...JOB, hints: { ...JOB.hints, frameTail: 2 } }],
  ])('changes with the %s', (_name, job) => expect(decisionKey(job)).not.toBe(decisionKey(JOB)));

  it('does not depend on the name of the tool', () => {
    expect(decisionKey({ ...JOB, tool: 'other' })).toBe(decisionKey(JOB));
  });
});

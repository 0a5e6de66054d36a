import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatUri, idPrefix, parseUri } from '../../../src/mcp/resources/uri.ts';

const kinds = ['run_events', 'snapshot', 'child_logs'] as const;
const anyId = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }).filter((id) => id.isWellFormed());

describe('sc:// addresses', () => {
  it('can be parsed back for any id', () => {
    fc.assert(
      fc.property(fc.constantFrom(...kinds), anyId, (kind, id) => {
        expect(parseUri(formatUri(kind, id))).toEqual({ kind, id });
      }),
    );
  });

  it('match each of their own prefixes', () => {
    fc.assert(
      fc.property(fc.constantFrom(...kinds), anyId, fc.nat(60), (kind, id, length) => {
        const prefix = idPrefix(kind, formatUri(kind, id).slice(0, length));
        expect(prefix).not.toBeNull();
        expect(id.startsWith(prefix ?? id)).toBe(true);
      }),
    );
  });

  it('are accepted for the kinds of the fleet, and refused in any other form', () => {
    expect(parseUri('sc://snapshots/g%2F1/t')).toEqual({ kind: 'snapshot', id: 'g/1', part: 't' });
    expect(parseUri('sc://blackboard/n')).toEqual({ kind: 'blackboard_namespace', id: 'n' });
    expect(parseUri('sc://graphs/g1')).toEqual({ kind: 'graph', id: 'g1' });
    expect(parseUri('sc://graphs/g1@v3')).toEqual({ kind: 'graph_version', id: 'g1', part: '3' });
    for (const uri of [
      '',
      'file:///etc/passwd',
      'sc://',
      'sc://runs/',
      'sc://runs/a',
      'sc://runs/a/logs',
      'sc://runs//events',
    ]) {
      expect(parseUri(uri)).toBeNull();
    }
    for (const uri of [
      'sc://runs/a/events/b',
      'sc://snapshots/a/b/c',
      'sc://runs/%zz/events',
      `sc://runs/${'a'.repeat(2000)}/events`,
    ]) {
      expect(parseUri(uri)).toBeNull();
    }
  });
});

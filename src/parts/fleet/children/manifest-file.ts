import { z } from 'zod';
import { parsed } from '../../../wires/json/value.ts';
import { FleetError } from '../errors.ts';
import { childFields } from './input.ts';
import type { Places } from './places.ts';
import type { ChildInput } from './spec.ts';

const MAX_BYTES = 64 * 1024;
const DEFAULT_AGENT = 'codex';
const shape = z.strictObject(childFields);

/**
 * Reads a manifest file inside the child roots; `null` if the file does not exist. @throws FleetError
 * `E-CHILD-MANIFEST`
 */
export function readManifestFile(places: Places, path: string): ChildInput | null {
  const text = places.manifest(path, MAX_BYTES);
  if (text === null) return null;
  const refuse = (reason: string): FleetError => new FleetError('E-CHILD-MANIFEST', { manifest_path: path, reason });
  const value = parsed(text);
  if (value === undefined) throw refuse('it is not JSON');
  const read = shape.safeParse(value);
  if (!read.success) {
    const [issue] = read.error.issues;
    throw refuse(`${issue?.path.join('.') || 'the file'}: ${issue?.message ?? 'wrong shape'}`);
  }
  const { agent, command } = read.data;
  return { ...read.data, agent: agent ?? (command === undefined ? DEFAULT_AGENT : undefined) };
}

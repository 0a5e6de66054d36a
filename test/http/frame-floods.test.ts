import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import type WebSocket from 'ws';
import { Turns } from '../../src/core/decide/turns.ts';
import { Bridge } from '../../src/proxy/websocket/bridge.ts';
import { typeOfFrame } from '../../src/proxy/websocket/frame-type.ts';
import { JsonCursor } from '../../src/wires/json/cursor.ts';

/** One side of a bridge. */
class FakeSocket extends EventEmitter {
  readonly bufferedAmount = 0;
  readonly sent: string[] = [];
  pause(): void {}
  resume(): void {}
  send(data: Buffer, _options: object, done: () => void): void {
    this.sent.push(data.toString());
    done();
  }
}

const asSocket = (fake: FakeSocket): WebSocket => fake as unknown as WebSocket;

describe('thousands of small messages at once', () => {
  it('pass in order, and other work gets a turn after every few messages', async () => {
    const [client, upstream] = [new FakeSocket(), new FakeSocket()];
    let sinceTurn = 0;
    let most = 0;
    const look = (data: Buffer): Buffer => {
      most = Math.max(most, ++sinceTurn);
      const until = performance.now() + 1;
      while (performance.now() < until); // what a message costs
      return data;
    };
    const watch = { fromClient: look, fromUpstream: () => true, closed: () => {} };
    new Bridge(asSocket(client), asSocket(upstream), watch, new Turns());
    for (let i = 0; i < 150; i++) client.emit('message', Buffer.from(String(i)), false);
    while (upstream.sent.length < 150) {
      await new Promise((resolve) => setImmediate(resolve));
      sinceTurn = 0;
    }
    expect(upstream.sent).toEqual(Array.from({ length: 150 }, (_, i) => String(i)));
    expect(most).toBeLessThan(30);
  });

  it('have a type that is found at either end of a frame too large to scan', () => {
    const filler = `"input":[${'{},'.repeat(2_000_000)}{}]`;
    expect(typeOfFrame(Buffer.from(`{"type":"response.create",${filler}}`))).toBe('response.create');
    expect(typeOfFrame(Buffer.from(`{${filler},"type":"response.create"}\n`))).toBe('response.create');
    expect(typeOfFrame(Buffer.from(`{${filler},"type":"response.create","x":1}`))).toBe('');
    expect(typeOfFrame(Buffer.from(`{${filler},"x":{"type":"response.create"}}`))).toBe('');
    expect(typeOfFrame(Buffer.from('{"input":[],"type":"response.create","x":1}'))).toBe('response.create');
  });

  it('cause errors without a stack trace', () => {
    for (const frame of ['{', '[', '1', '{"type":', ' ']) expect(typeOfFrame(Buffer.from(frame))).toBe('');
    try {
      new JsonCursor(Buffer.from('{')).object(() => {});
      expect.unreachable();
    } catch (cause) {
      expect((cause as Error).stack).not.toContain('\n');
    }
    expect(new Error('another one').stack).toContain('\n');
  });
});

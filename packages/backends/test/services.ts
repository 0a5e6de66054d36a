import type { ServerResponse } from 'node:http';
import type { FakeUpstream, SeenRequest } from '../../../test/helpers/fake-upstream.ts';
import { json, startUpstream } from '../../../test/helpers/fake-upstream.ts';

export const KEY = 'sk-deepinfra-very-secret';

/** What a rerank endpoint is sent. */
export interface RerankCall {
  readonly queries: readonly string[];
  readonly documents: readonly string[];
}

export type Respond = (res: ServerResponse, request: SeenRequest, index: number) => unknown;

/** A service on loopback whose behaviour the test may change under way. */
export class FakeService {
  readonly server: FakeUpstream;
  readonly #path: string;

  constructor(server: FakeUpstream, path: string) {
    this.server = server;
    this.#path = path;
  }

  get url(): string {
    return `http://127.0.0.1:${this.server.port}${this.#path}`;
  }

  get calls(): readonly SeenRequest[] {
    return this.server.requests;
  }

  bodies<Body>(): Body[] {
    return this.server.requests.map(({ body }) => JSON.parse(body.toString('utf8')) as Body);
  }

  set respond(respond: Respond) {
    this.server.answer = (request, res, index) => respond(res, request, index);
  }
}

/** A rerank endpoint that scores each document; ends with the test. */
export async function startReranker(score: (document: string, index: number) => unknown): Promise<FakeService> {
  const server = await startUpstream();
  const service = new FakeService(server, '/v1/inference/some/reranker');
  service.respond = (res, request) => {
    const { documents } = JSON.parse(request.body.toString('utf8')) as RerankCall;
    json(res, 200, rerankAnswer(documents.map(score)));
  };
  return service;
}

/** An answer in the shape of the real endpoint. */
export function rerankAnswer(scores: readonly unknown[]): object {
  const inference_status = { status: 'succeeded', runtime_ms: 12, cost: 0.0001, tokens_input: 42, tokens_generated: 0 };
  return { scores, input_tokens: 42, request_id: 'r1', inference_status };
}

/** What a swe-pruner service is sent. */
export interface PruneCall {
  readonly code: string;
  readonly query: string;
}

/** A swe-pruner service that keeps some lines; ends with the test. */
export async function startSwePruner(keeps: (line: string, index: number) => boolean): Promise<FakeService> {
  const server = await startUpstream();
  const service = new FakeService(server, '/prune');
  service.respond = (res, request) => {
    const { code } = JSON.parse(request.body.toString('utf8')) as PruneCall;
    json(res, 200, { pruned_code: code.split('\n').filter(keeps).join('\n'), score: 0.9 });
  };
  return service;
}

/** Never answers; the connection stays until the other side ends it. */
export const hang: Respond = () => {};

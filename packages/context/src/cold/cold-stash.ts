import type { ResultMarks } from 'mcp-pruner/core/ports/result-marks.ts';
import type { CollectedRequest, OverTokenBudget } from 'mcp-pruner/core/ports/segments.ts';
import { stashId } from 'mcp-pruner/core/segments/text-segments.ts';
import type { StepTaker } from '../collector.ts';
import { NEWEST_MESSAGES } from '../newest.ts';
import { oldArguments } from '../old-arguments.ts';
import { withoutReferredTo } from '../referred-to.ts';
import { type StayingOptions, stayingIn, storedIds } from '../staying.ts';
import { freedBy } from '../sweep.ts';
import { type SetAside, type StepOptions, takeStep } from '../take-step.ts';
import type { ColdBooks } from './books.ts';
import type { ColdMoments } from './cold-moments.ts';
import type { LastAnswers } from './last-answers.ts';

/** `MCP_PRUNER_COLD_STASH`. */
export type ColdStashSetting = 'on' | 'measure' | 'off';

interface ColdStashOptions extends StepOptions, StayingOptions {
  /** Setting of a project. `measure` only counts, and puts nothing aside. */
  readonly settingOf: (project: string) => ColdStashSetting;
  readonly moments: ColdMoments;
  readonly answers: Pick<LastAnswers, 'measure'>;
  readonly marks: ResultMarks;
  readonly books: Pick<ColdBooks, 'putAside'>;
}

/** Shorter results stay, in UTF-16 units as sent by the client. */
const LEAST_CHARS = 1_000;
/** Minimum total saving of a step. */
const LEAST_TOKENS = 3_000;

/**
 * Puts old results aside at the first request after the provider has dropped its cache. The history must be reprocessed
 * then anyway, so changing it costs nothing and makes every later turn cheaper.
 */
export class ColdStash implements StepTaker {
  readonly #options: ColdStashOptions;

  constructor(options: ColdStashOptions) {
    this.#options = options;
  }

  mayNeedStep(request: CollectedRequest): boolean {
    const { settingOf, moments } = this.#options;
    if (request.messages <= NEWEST_MESSAGES || settingOf(request.scope.project) === 'off') return false;
    return moments.mayBe(request);
  }

  async collect(over: OverTokenBudget): Promise<boolean> {
    const { settingOf, moments, answers, marks, books } = this.#options;
    const { request, scope } = over;
    const { project } = scope;
    const { conversationId } = request;
    const why = await moments.causeOf({ ...over, conversationId });
    if (why === null) return false;
    const isMeasured = settingOf(project) === 'measure';
    const { old, isFirst } = await this.#oldResults(over, isMeasured);
    const tokens = old.reduce((sum, { freed }) => sum + freed, 0);
    if (tokens < LEAST_TOKENS) return false;
    const size = over.tokens || request.segments.reduce((sum, segment) => sum + segment.tokens, 0);
    if (!isMeasured) await takeStep(this.#options, { by: 'cold', why }, { ...over, tokens: size }, old, size - tokens);
    else answers.measure(project, conversationId, tokens);
    await marks.noteAside(old.flatMap(({ pruneIds }) => pruneIds));
    const figures = { conversations: isFirst ? 1 : 0, results: old.length, tokens };
    books.putAside(project, over.head().model, figures, why);
    return !isMeasured;
  }

  /**
   * The results that may be put aside, and whether none of the conversation was before. If they are only measured, those
   * that would have been are known by their marks.
   *
   * @throws StoreUnavailable
   */
  async #oldResults(
    over: OverTokenBudget,
    isMeasured: boolean,
  ): Promise<{ readonly old: readonly Old[]; readonly isFirst: boolean }> {
    const { request, scope } = over;
    const stays = await stayingIn(this.#options, over);
    const end = request.messages - NEWEST_MESSAGES;
    const old = request.segments.flatMap((segment): Old[] => {
      const { id, ordinal, role, text, exempt, directed } = segment;
      const freed = freedBy(segment);
      if (role !== 'tool' || ordinal >= end || text.length < LEAST_CHARS || freed <= 0) return [];
      if (exempt || directed !== null || stays(segment)) return [];
      const ownId = stashId(scope.project, id);
      return [{ id, stashId: ownId, upTo: ordinal, freed, pruneIds: storedIds(scope.project, segment) }];
    });
    old.push(...(await oldArguments(this.#options, over, end)));
    const isFirst = request.segments.every(({ directed }) => directed !== 'aside');
    if (!isMeasured) return { old: withoutReferredTo(old, request.segments), isFirst };
    // other ids may belong to the same text in another conversation as well
    const measured = await this.#options.marks.putAside(old.map((one) => one.stashId));
    return { old: old.filter((one) => !measured.has(one.stashId)), isFirst: isFirst && measured.size === 0 };
  }
}

interface Old extends SetAside {
  readonly freed: number;
  /** The id under which it is stashed, which is of its call alone. */
  readonly stashId: string;
  /** Ids under which it is stored. */
  readonly pruneIds: readonly string[];
}

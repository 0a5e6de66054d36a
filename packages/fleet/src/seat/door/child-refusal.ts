/** Why a child's request is refused, in OpenAI's error format. */
export interface ChildRefusal {
  readonly message: string;
  readonly type: Refused;
  readonly param: null;
  /** The exceeded limit, or the problem with the child. */
  readonly code: string;
}

type Refused = 'child_unknown' | 'child_ended' | 'child_limit_exceeded';

const WORDS: Readonly<Record<Refused, string>> = {
  child_unknown: 'No child of this server has this token.',
  child_ended: 'The child of this token has ended; its address ended with it.',
  child_limit_exceeded: 'This agent has used up a limit that it was started with; it must end now.',
};

export function childRefusal(type: Refused, code: string = type): ChildRefusal {
  return { message: WORDS[type], type, param: null, code };
}

import { WrongCase } from '../../tool-results/measure.ts';
import type { Workshop } from '../../tool-results/workshop.ts';
import type { Listing } from '../listing.ts';

/** A listing that a tool of this machine prints when the bench runs. */
export interface RealListing {
  readonly name: string;
  /** Not looked at until the rule was made. */
  readonly held: boolean;
  /** Programs without which it cannot be made. */
  readonly needs: readonly string[];
  /** Shell commands that make what is listed; their output is not part of the listing. */
  readonly prepare?: string;
  /** The command that an agent would run. */
  readonly command: string;
  /** What is run, if it differs from the command. */
  readonly run?: string;
  readonly goal: string;
  /** Lines that match this are needed. */
  readonly needed: RegExp;
  /** Number of needed lines. */
  readonly count: number;
}

/** Names of services, `${N[3]}`; a repository, `repo folder`; numbers, `upto 40`. */
const PRELUDE = `
W=(cart order stock price mail audit login media tax credit quote route badge parcel relay cron)
for i in {1..260}; do N[$i]=\${W[$((i*7%16))]}-\${W[$((i*11%16))]}-$i; done
upto() { seq 1 "$1"; }
export GIT_AUTHOR_NAME=Ada GIT_AUTHOR_EMAIL=ada@example.org GIT_COMMITTER_NAME=Ada GIT_COMMITTER_EMAIL=ada@example.org
export GIT_AUTHOR_DATE='2026-01-05T10:00:00Z' GIT_COMMITTER_DATE='2026-01-05T10:00:00Z' GIT_PAGER=cat
repo() { git init -q -b main "$1" && cd "$1" && git config advice.detachedHead false; }
save() { git add -A && git commit -q -m "$1"; }
`;

/** Shortest listing in characters: shorter ones are never cut. */
const LEAST_CHARS = 2_000;

/** Makes a listing. Throws `Unavailable` if a program is missing, `WrongCase` if the tool printed something else. */
export function makeListing(workshop: Workshop, item: RealListing): Listing {
  const { name, needs, prepare = ':', command, run = command, goal, needed, count } = item;
  workshop.need(...needs);
  const text = workshop.sh(`${PRELUDE}\n{ ${prepare}\n} >prepared.log 2>&1\n${run}`, workshop.folder());
  const rows = text.split('\n').filter((line) => needed.test(line));
  if (rows.length !== count || text.length < LEAST_CHARS)
    throw new WrongCase(`${rows.length} of ${count} needed rows in ${text.length} characters: ${text.slice(0, 300)}`);
  return { name, command, goal, text, needed: rows };
}

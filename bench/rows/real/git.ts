import type { RealListing } from './case.ts';

const git = ['git'];
/** Two branches that change 160 files; `src/app.ts` on both. */
const DIVERGED = `repo r; mkdir src; for i in $(upto 160); do echo \${N[$i]} > src/\${N[$i]}.ts; done; echo one > src/app.ts; save base
git switch -q -c side; for f in src/*; do echo side >> $f; done; save side; git switch -q main; echo main >> src/app.ts; save main`;
/** A remote with 110 branches, and a clone of it. */
const REMOTE = `git init -q --bare -b main origin.git; repo seed; echo 1 > a; save one; echo 2 > a; save two
for i in $(upto 110); do echo "create refs/heads/\${N[$i]} HEAD"; done | git update-ref --stdin
git remote add origin ../origin.git; git push -q --all; cd ..; git clone -q origin.git work; cd work`;

/** Listings of git. */
export const gitListings: readonly RealListing[] = [
  {
    name: 'git-status-conflict',
    held: false,
    needs: git,
    prepare: `${DIVERGED}; git merge side`,
    command: 'git status',
    goal: 'Can we commit this?',
    needed: /both modified:/,
    count: 1,
  },
  {
    name: 'git-status-short',
    held: true,
    needs: git,
    prepare: `${DIVERGED}; git merge side`,
    command: 'git status --short',
    goal: 'Can we commit this?',
    needed: /^UU /,
    count: 1,
  },
  {
    name: 'git-merge',
    held: false,
    needs: git,
    prepare: `repo r; mkdir src; for i in $(upto 120); do (echo \${N[$i]}; seq 1 20; echo \${N[$i]}) > src/\${N[$i]}.ts; done; echo one > src/zone.ts; save base
git switch -q -c side; for f in src/*; do echo side >> $f; done; save side; git switch -q main
for f in src/*; do sed -i 1s/^/main/ $f; done; save main`,
    command: 'git merge side',
    goal: 'Merge the branch',
    needed: /^CONFLICT|^Automatic merge failed/,
    count: 2,
  },
  {
    name: 'git-rebase',
    held: true,
    needs: git,
    prepare: `repo r; echo 1 > a; save base; git switch -q -c topic; for i in $(upto 60); do echo $i > \${N[$i]}; save "add \${N[$i]}"; done
echo topic > a; save 'change a'; git switch -q main; echo m > m; save m; git cherry-pick main..topic~1; echo main > a; save 'other a'; git switch -q topic`,
    command: 'git rebase main',
    goal: 'Rebase the branch',
    needed: /^CONFLICT|^error: could not apply/,
    count: 2,
  },
  {
    name: 'git-push',
    held: false,
    needs: git,
    prepare: `${REMOTE}; for b in $(git branch -r | grep -v HEAD | sed 's,.*origin/,,'); do git branch -q -f $b origin/$b; done 2>/dev/null
for i in $(upto 110); do echo "update refs/heads/\${N[$i]} $(git commit-tree -p HEAD -m more HEAD^{tree})"; done | git update-ref --stdin
git branch -f \${N[41]} main~1; git commit-tree -p main~1 -m other HEAD^{tree} | xargs git branch -f \${N[41]}`,
    command: 'git push --all',
    goal: 'Push everything',
    needed: /\[rejected\]|^error: failed to push/,
    count: 2,
  },
  {
    name: 'git-fetch',
    held: true,
    needs: git,
    prepare: `${REMOTE}; git tag v1 HEAD; cd ../seed; git tag v1 HEAD~1; git push -q origin v1
for i in $(upto 120); do echo "create refs/heads/new-\${N[$i]} HEAD"; done | git update-ref --stdin
git branch -f \${N[7]} $(git commit-tree -p HEAD~1 -m other HEAD^{tree}); git push -q --force --all; cd ../work`,
    command: "git fetch origin --tags '+refs/heads/*:refs/remotes/origin/*'",
    goal: 'Get the newest state',
    needed: /forced update|would clobber/,
    count: 2,
  },
  {
    name: 'git-branch',
    held: false,
    needs: git,
    prepare: `${REMOTE}; for i in $(upto 110); do git branch -q --track \${N[$i]} origin/\${N[$i]}; done
git branch -f \${N[9]} $(git commit-tree -p HEAD~1 -m other HEAD^{tree}); git push -q origin :\${N[70]}; git fetch -q --prune`,
    command: 'git branch -vv',
    goal: 'Which branches can be deleted?',
    needed: /: gone\]|ahead 1/,
    count: 2,
  },
  {
    name: 'git-remote-show',
    held: true,
    needs: git,
    prepare: `${REMOTE}; cd ../seed; git push -q origin :\${N[33]}; cd ../work`,
    command: 'git remote show origin',
    goal: 'Is the clone up to date?',
    needed: /stale/,
    count: 1,
  },
  {
    name: 'git-cherry',
    held: false,
    needs: git,
    prepare: `repo r; echo 1 > a; save base; git switch -q -c topic; for i in $(upto 80); do echo $i > \${N[$i]}; save "add \${N[$i]}"; done
git switch -q main; echo m > m; save m; git cherry-pick main..topic~40; git cherry-pick topic~39..topic`,
    command: 'git cherry -v main topic',
    goal: 'What is not merged yet?',
    needed: /^\+ /,
    count: 1,
  },
  {
    name: 'git-range-diff',
    held: true,
    needs: git,
    prepare: `repo r; echo 1 > a; save base; git switch -q -c one; for i in $(upto 70); do seq 1 $((20 + i)) > \${N[$i]}; save "add \${N[$i]}"; done
git switch -q main; echo m > m; save m; git switch -q -c two; git cherry-pick main..one~40; echo more >> \${N[30]}; git commit -q -a --amend --no-edit; git cherry-pick one~40..one`,
    command: 'git range-diff --no-patch main one two',
    goal: 'What changed between the two versions?',
    needed: / ! /,
    count: 1,
  },
  {
    name: 'git-name-status',
    held: false,
    needs: git,
    prepare: `repo r; mkdir -p src/lib; for i in $(upto 200); do echo \${N[$i]} > src/lib/\${N[$i]}.ts; done; save base
for f in src/lib/*; do echo more >> $f; done; rm src/lib/\${N[120]}.ts; git mv src/lib/\${N[170]}.ts src/lib/moved.ts; save more`,
    command: 'git show --format=%s --name-status HEAD',
    goal: 'What happened to the files?',
    needed: /^[DR]\d*\t/,
    count: 2,
  },
  {
    name: 'git-apply',
    held: true,
    needs: git,
    prepare: `repo r; mkdir src; for i in $(upto 90); do (seq 1 5; echo \${N[$i]}; seq 6 9) > src/\${N[$i]}.ts; done; save base
for f in src/*; do sed -i 6s/$/-changed/ $f; done; git diff > ../p.diff; git checkout -q .; echo other > src/\${N[50]}.ts; save other`,
    command: 'git apply --reject --verbose ../p.diff',
    goal: 'Apply the patch',
    needed: /^error: patch failed|reject/i,
    count: 3,
  },
  {
    name: 'git-fsck',
    held: false,
    needs: git,
    prepare: `repo r; echo 1 > a; save base; for i in $(upto 120); do echo \${N[$i]} | git hash-object -w --stdin; done
f=.git/objects/$(git rev-parse HEAD:a | sed 's,^..,&/,'); rm -f $f`,
    command: 'git fsck --full',
    goal: 'Is the repository all right?',
    needed: /^(?:missing|broken)/,
    count: 1,
  },
  {
    name: 'git-ls-files-flags',
    held: true,
    needs: git,
    prepare: `repo r; mkdir -p src/lib; for i in $(upto 250); do echo \${N[$i]} > src/lib/\${N[$i]}.ts; done; save base
git update-index --assume-unchanged src/lib/\${N[77]}.ts; git update-index --skip-worktree src/lib/\${N[177]}.ts`,
    command: 'git ls-files -v',
    goal: 'Why does git not see my change?',
    needed: /^[hS] /,
    count: 2,
  },
  {
    name: 'git-worktree',
    held: false,
    needs: git,
    prepare: `repo r; echo 1 > a; save base; for i in $(upto 40); do git worktree add --no-checkout ../\${N[$i]}; done
rm -rf ../\${N[12]}; git worktree lock ../\${N[25]}`,
    command: 'git worktree list',
    goal: 'Clean up the worktrees',
    needed: /prunable|locked/,
    count: 2,
  },
  {
    name: 'git-ls-files-modes',
    held: true,
    needs: git,
    prepare: `repo r; for i in $(upto 150); do echo \${N[$i]} > \${N[$i]}.sh; done; ln -s a.sh link.sh; chmod +x \${N[99]}.sh; save base`,
    command: 'git ls-files --stage',
    goal: 'Which file is executable?',
    needed: /^(?:120000|100755)/,
    count: 2,
  },
  {
    name: 'git-for-each-ref',
    held: true,
    needs: git,
    prepare: `${REMOTE}; for i in $(upto 110); do git branch -q --track \${N[$i]} origin/\${N[$i]}; done
git branch -f \${N[64]} HEAD~1`,
    command: "git for-each-ref --format='%(refname:short) %(upstream:short) %(upstream:trackshort)' refs/heads",
    goal: 'Which branches are not in sync?',
    needed: /<$/,
    count: 1,
  },
];

import { describe, expect, it } from 'vitest';
import { kindNamed, nameByPath } from '../../src/engine/kinds/all.ts';
import { viewText } from '../../src/engine/text/view.ts';

/** The lines (1-based, first and last) of the block that a line belongs to, blocks inside it included. */
function blockAround(path: string, text: string, marked: string): readonly [number, number] {
  const view = viewText(text, 0);
  const units = kindNamed(nameByPath(path) ?? '').units(view);
  const lines = text.split('\n');
  const wanted = units.unit[lines.findIndex((line) => line.includes(marked))];
  const inside = lines.flatMap((line, i) => {
    let unit = units.unit[i] ?? -1;
    while (unit >= 0 && unit !== wanted) unit = units.parent[unit] ?? -1;
    return unit === wanted && line.trim() !== '' ? [i + 1] : [];
  });
  return [inside[0] ?? 0, inside.at(-1) ?? 0];
}

describe('the block of a function', () => {
  it('continues after a label in the first column', () => {
    const text = `static int load(struct repo *repo)
{
	int error = 0;

	if ((error = open_all(repo)) < 0)
		goto cleanup;

cleanup:
	close_all(repo);
	return error;
}

static int other;
`;
    expect(blockAround('load.c', text, 'static int load')).toEqual([1, 11]);
  });

  it('continues after a directive in the first column', () => {
    const text = `void flush(int fd) {
	write(fd);
#ifdef HAVE_FSYNC
	fsync(fd);
#endif
	close(fd);
}

int x;
`;
    expect(blockAround('flush.c', text, 'void flush')).toEqual([1, 7]);
  });

  it('continues after string content that begins in the first column', () => {
    const text = `export function usage() {
  return \`
usage: tool [options]
options: none
\`;
}

const name = 'tool';
`;
    expect(blockAround('usage.ts', text, 'export function usage')).toEqual([1, 6]);
  });

  it('includes its where clause', () => {
    const text = `impl<T> Extend<T> for List<T>
where
    T: Clone,
{
    fn extend<I>(&mut self, items: I)
    where
        I: Iterator<Item = T>,
    {
        for item in items {
            self.push(item);
        }
    }

    fn clear(&mut self) {
        self.items.clear();
    }
}
`;
    expect(blockAround('list.rs', text, 'fn extend')).toEqual([5, 12]);
    expect(blockAround('list.rs', text, 'impl<T>')).toEqual([1, 17]);
  });

  it('begins with the return type and the comment above it', () => {
    const text = `static int before;

/* Compares two keys. */
int
compare(const void *a, const void *b)
{
	return (key(a) - key(b));
}

static int after;
`;
    expect(blockAround('compare.c', text, 'compare(const')).toEqual([3, 8]);
  });

  it('begins with the attributes and the comment above it', () => {
    const text = `class Log
{
    /// <summary>Pushes a property.</summary>
    [Obsolete("use Push(...)")]
    public static void PushProperty(string name)
    {
        Push(name);
    }

    public static void Push(string name)
    {
        stack.Add(name);
    }
}
`;
    expect(blockAround('Log.cs', text, 'PushProperty')).toEqual([3, 8]);
  });

  it('ends at the next declaration if its brace is missing', () => {
    const text = `int first(int a) {
	if (a) {
		return 1;

int second(int b) {
	return b;
}
`;
    expect(blockAround('cut.c', text, 'int first')).toEqual([1, 3]);
    expect(blockAround('cut.c', text, 'int second')).toEqual([5, 7]);
  });
});

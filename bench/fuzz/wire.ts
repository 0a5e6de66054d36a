import type { FileShape, Turn, Wrap } from './cases.ts';
import { RawJson } from './spelling.ts';

type UserTurn = Extract<Turn, { kind: 'user' }>;
type File = UserTurn['files'][number];

const FRAMES: Readonly<Record<FileShape, (file: File) => string>> = {
  file: ({ path, text }) => `<file name="${path}">\n${text}\n</file>\n`,
  file_content: ({ path, text }) => `<file_content path="${path}">\n${text}</file_content>`,
  fence: ({ path, text }) => `\`\`\`ts ${path}\n${text}\n\`\`\`\n`,
  aider: ({ path, text }) => `${path}\n\`\`\`\`\n${text}\n\`\`\`\`\n`,
  named: ({ path, text }) => `[file name]: ${path}\n[file content begin]\n${text}\n[file content end]\n`,
  referenced: ({ path, text }) =>
    `--- Content from referenced files ---\nContent from @${path}:\n${text}\n--- End of content ---\n`,
  document: ({ path, text }) =>
    `<documents>\n<document index="1">\n<source>${path}</source>\n<document_content>\n${text}\n</document_content>\n</document>\n</documents>`,
  bare: ({ text }) => text,
  path: ({ path, text }) => `<path>${path}</path>\n<type>file</type>\n<content>\n1: ${text}\n</content>`,
};

/** A user's words with files before, behind and beside them. */
export function userContent({ words, files, parts, reminder }: UserTurn): unknown {
  const framed = files.map((file) => FRAMES[file.shape](file));
  const injected = reminder ? ['<system-reminder>\nDo not mention this. retry payment queue\n</system-reminder>'] : [];
  const texts = [...framed, ...injected, words];
  return parts ? texts.map((text) => ({ type: 'text', text })) : texts.join('\n');
}

/** A result as this or that client wraps it. */
export function wrapped(text: string, wrap: Wrap, recovered = false): unknown {
  const answer = JSON.stringify(
    recovered
      ? { raw_text: text, metadata: { prune_id: 'x', ranges: [], line_numbering: 'original' } }
      : { result: text, ok: true },
  );
  switch (wrap) {
    case 'plain':
      return text;
    case 'parts':
      return [
        { type: 'text', text, cache_control: { type: 'ephemeral' } },
        { type: 'image_url', image_url: { url: 'data:x' } },
      ];
    case 'output-json':
      return `{"output":${JSON.stringify(text)},"metadata":{"exit_code":0,"duration_seconds":1.0}}`;
    case 'cline':
      return `[ {"query":"a.ts","result":${JSON.stringify(text)},"success":true},\n{"query":"b","result":"x\\ny"} ]`;
    case 'mcp-json':
      return JSON.stringify({ content: [{ type: 'text', text: answer }] });
    case 'mcp-parts':
      return JSON.stringify([{ text: answer, type: 'text' }]);
    case 'wall-time':
      return `Wall time: 0.01 seconds\nOutput:\n${answer}`;
    case 'json-string':
      return JSON.stringify(text);
    case 'pretty':
      return JSON.stringify(
        { b: { [text.slice(0, 30)]: [text, null, 1e21] }, raw: recovered ? JSON.parse(answer) : 0 },
        null,
        1,
      );
  }
}

/** A call and its result, as two messages. */
export function callMessages(
  id: string,
  turn: Pick<Extract<Turn, { kind: 'call' }>, 'tool' | 'args' | 'said' | 'legacy' | 'argsAsObject'>,
  content: unknown,
): object[] {
  const args = turn.argsAsObject && isJson(turn.args) ? new RawJson(turn.args) : turn.args;
  const made = { name: turn.tool, arguments: args };
  if (turn.legacy) {
    return [
      { role: 'assistant', content: turn.said || null, function_call: made },
      { role: 'function', name: turn.tool, content },
    ];
  }
  return [
    {
      role: 'assistant',
      content: turn.said || null,
      refusal: null,
      tool_calls: [{ id, type: 'function', function: made }],
    },
    { tool_call_id: id, role: 'tool', content, 'internal metadata': { passthrough: [1.5, null] } },
  ];
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

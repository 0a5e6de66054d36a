import { pricesOf } from '@mcp-pruner/money/installed-prices.ts';
import { fittingName, type Price, ratesFor } from '@mcp-pruner/money/prices.ts';
import { type Call, type Io, printable, textOption } from 'mcp-pruner/cli/command.ts';
import { readSettings } from 'mcp-pruner/cli/read-settings.ts';
import { table, wrapped } from 'mcp-pruner/cli/table.ts';

const DAY_MS = 86_400_000;

/** `report --prices [model]`: the price rows in use, or the row for a model. @returns 1 if none matches */
export async function pricesView(call: Call, io: Io): Promise<number> {
  const found = pricesOf(readSettings(call, io).settings);
  for (const line of [...found.problems, ...found.warnings]) io.err(`${printable(line)}\n`);
  const nowMs = io.clock.nowMs();
  const model = textOption(call, 'prices') ?? '';
  const json = call.values.json === true;
  if (model === '') {
    const rows = found.rows();
    io.out(json ? asJson({ rows: rows.map((row) => ({ row, ageDays: ageOf(row, nowMs) })) }) : listed(rows, nowMs, io));
    return 0;
  }
  const row = found.of(model, nowMs);
  const fitting = { row, fits: row && fittingName(row, model), ageDays: row && ageOf(row, nowMs) };
  io.out(json ? asJson(fitting) : row === null ? none(model, io) : one(model, row, nowMs, io));
  return row === null ? 1 : 0;
}

function asJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function ageOf({ day }: Price, nowMs: number): number {
  return Math.max(0, Math.floor((nowMs - Date.parse(day)) / DAY_MS));
}

const HEAD = ['input', 'write 5m', 'write 1h', 'read', 'output'];

function cells(price: Price, inputTokens: number): string[] {
  const { input, write5m, write1h, read, output } = ratesFor(price, inputTokens);
  return [input, write5m, write1h, read, output].map((dollars) => String(dollars));
}

function listed(rows: readonly Price[], nowMs: number, io: Io): string {
  const lines = rows.flatMap((row) => {
    const [first = '', ...others] = row.model.split(' ').filter(Boolean);
    const name = others.length === 0 ? first : `${first} +${others.length}`;
    const bands = row.bands.map(({ above }) => [
      `  above ${above.toLocaleString('en-US')}`,
      '',
      ...cells(row, above + 1),
      '',
    ]);
    return [[printable(name), row.from ?? '', ...cells(row, 0), String(ageOf(row, nowMs))], ...bands];
  });
  return `${table([['model', 'from', ...HEAD, 'age, days'], ...lines], { textColumns: 2, width: io.columns })}\n`;
}

function one(model: string, row: Price, nowMs: number, io: Io): string {
  const bands = row.bands.map(({ above }) => [`above ${above.toLocaleString('en-US')}`, ...cells(row, above + 1)]);
  return [
    wrapped(`${printable(model)} fits the row ${printable(row.model)} of ${printable(row.provider)}`, '', io),
    row.from === null ? '' : `since ${row.from}\n`,
    `\n${table([['tokens of input', ...HEAD], ['any', ...cells(row, 0)], ...bands], { width: io.columns })}\n\n`,
    wrapped(`looked up ${row.day} (${ageOf(row, nowMs)} days ago): ${printable(row.source)}`, '', io, '  '),
  ].join('');
}

function none(model: string, io: Io): string {
  return wrapped(
    `no row fits ${JSON.stringify(model)}: its requests count in tokens and not in dollars. MCP_PRUNER_PRICES names a file with more rows.`,
    '',
    io,
  );
}

import type { ReportedUsage } from 'mcp-pruner/core/ports/request-facts.ts';
import { fitsModel, type Price, type Prices, type Rates } from './prices.ts';

/** The name of the providers' own web search in price files. */
const SEARCH = 'web_search';

/** The price of a request as it was served, and the fees of the tools that the provider called. */
export function pricing(
  price: Price | null,
  { model, usage }: { readonly model: string; readonly usage: Pick<ReportedUsage, 'served' | 'searches'> | null },
  { extras: { factors, tools } }: Pick<Prices, 'extras'>,
): { readonly price: Price | null; readonly fees: number } {
  if (price === null) return { price, fees: 0 };
  const fits = (row: { readonly model: string; readonly provider?: string | undefined }): boolean =>
    (row.provider ?? price.provider) === price.provider && fitsModel(row.model, model);
  const { served = [], searches = 0 } = usage ?? {};
  const factor = served.reduce((product, way) => {
    return product * (factors.find((row) => row.served === way && fits(row))?.factor ?? 1);
  }, 1);
  const search = searches > 0 ? tools.find((row) => row.tool === SEARCH && fits(row)) : undefined;
  return {
    price: factor === 1 ? price : timesOf(price, factor),
    fees: (searches * (search?.per_thousand ?? 0)) / 1_000,
  };
}

/** A price whose rates are all multiplied. */
function timesOf(price: Price, factor: number): Price {
  const times = <R extends Rates>(rates: R): R => ({
    ...rates,
    input: rates.input * factor,
    write5m: rates.write5m * factor,
    write1h: rates.write1h * factor,
    read: rates.read * factor,
    output: rates.output * factor,
  });
  return { ...times(price), bands: price.bands.map(times) };
}

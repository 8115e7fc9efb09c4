import { Price } from "./price";

/** The sum of all prices, with tax. */
export function total(prices: Price[], taxPercent: number): Price {
  const cents = prices.reduce((sum, price) => sum + price.cents, 0);
  return new Price(cents).withTax(taxPercent);
}

/** The last line of a receipt. */
export function receipt(prices: Price[]): string {
  return `to pay: ${total(prices, 19).cents} cents`;
}

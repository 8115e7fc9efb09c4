/** An amount in cents. */
export class Price {
  constructor(readonly cents: number) {}

  /** The price with tax, rounded down to a cent. */
  withTax(percent: number): Price {
    return new Price(Math.floor((this.cents * (100 + percent)) / 100));
  }
}

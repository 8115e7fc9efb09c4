"""What things cost."""

from dataclasses import dataclass


@dataclass
class Price:
    """An amount in cents."""

    cents: int

    def with_tax(self, percent: int) -> "Price":
        """The price with tax, rounded down to a cent."""
        return Price(self.cents * (100 + percent) // 100)

"""An order is a list of prices."""

from shop.price import Price


def total(prices: list[Price], tax_percent: int) -> Price:
    """The sum of all prices, with tax."""
    subtotal = Price(sum(price.cents for price in prices))
    return subtotal.with_tax(tax_percent)


def receipt(prices: list[Price]) -> str:
    """The last line of a receipt."""
    return f"to pay: {total(prices, 19).cents} cents"

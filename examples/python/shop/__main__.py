"""Prints a receipt: python -m shop."""

from shop.order import receipt
from shop.price import Price

print(receipt([Price(500), Price(250)]))

# Tools are functions. An error in a tool is an exception here.
#
#   caisson run --config caisson.toml tools.py
prices = {"CHF": 120, "USD": 99}
total = sum(price * exchange_rate(currency, "EUR") for currency, price in prices.items())
print(f"{total:.2f} EUR")

try:
    exchange_rate(base="XYZ", quote="EUR")
except ToolError as error:
    print("as expected:", error)

import asyncio


async def price_of(symbol):
    try:
        quote = await get_quote(symbol=symbol)
    except ToolError as error:
        return symbol, None, str(error)
    return symbol, quote["price"], None


symbols = ["AAA", "BBB", "CCC"]
results = await asyncio.gather(*(price_of(s) for s in symbols))
table = {symbol: price for symbol, price, error in results if error is None}
for symbol, _, error in results:
    if error:
        print(f"{symbol} failed: {error}")
best = max(table, key=table.get) if table else None
{"best": best, "prices": table}

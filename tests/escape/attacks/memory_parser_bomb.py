# harm: source nested deeper than the parser's stack takes the worker along
# expect: completed failed limit
for source in ("(" * 10**4 + ")" * 10**4, "[" * 50_000, "-" * 200_000 + "1", "f(" * 20_000, "not " * 100_000 + "1",
               "a" + ".b" * 100_000, "lambda:" * 50_000 + "1", "x" + "[0]" * 100_000, "1" + "+1" * 200_000,
               "if 1:\n" + "".join(" " * i + "if 1:\n" for i in range(1, 90)), "f'" + "{" * 10_000, "u'\\N{" + "x" * 10**5):
    try:
        compile(source, "bomb", "exec")
    except (SyntaxError, RecursionError, MemoryError, ValueError):
        pass

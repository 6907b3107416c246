# harm: a tree built by hand, deeper than any source can be, overflows the compiler's stack
# expect: completed failed limit
import ast
node = ast.Constant(1)
for _ in range(10**5):
    node = ast.UnaryOp(ast.USub(), node)
try:
    compile(ast.fix_missing_locations(ast.Expression(node)), "tree", "eval")
except (RecursionError, MemoryError, ValueError):
    pass

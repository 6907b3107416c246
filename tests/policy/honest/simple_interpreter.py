import ast
import operator

OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
             ast.Pow: operator.pow, ast.USub: operator.neg}


def evaluate(node):
    if isinstance(node, ast.Expression):
        return evaluate(node.body)
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return node.value
    if isinstance(node, ast.BinOp):
        return OPERATORS[type(node.op)](evaluate(node.left), evaluate(node.right))
    if isinstance(node, ast.UnaryOp):
        return OPERATORS[type(node.op)](evaluate(node.operand))
    raise ValueError(f"unsupported: {ast.dump(node)}")


for text in ("1 + 2 * 3", "-(2 ** 3) / 4", "2 + x"):
    try:
        print(text, "=", evaluate(ast.parse(text, mode="eval")))
    except ValueError as error:
        print(error)
print(ast.literal_eval("{'a': [1, (2, None)]}"), sorted({n.id for n in ast.walk(ast.parse("a + b * a")) if isinstance(n, ast.Name)}))

# Raising, catching, chaining, cleaning up; with statements; pattern matching.
import contextlib
import traceback


class InvalidOrder(ValueError):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def check(order):
    if order % 7 == 0:
        raise InvalidOrder(order, f"bad order {order}")
    if order % 11 == 0:
        raise KeyError(order)
    return order


ok, bad, missing, cleaned = 0, 0, 0, 0
for i in range(3000):
    try:
        check(i)
    except InvalidOrder as error:
        bad += error.code % 2
    except (KeyError, IndexError):
        missing += 1
    else:
        ok += 1
    finally:
        cleaned += 1
print(ok, bad, missing, cleaned)

for source in ("1/0", "[][1]", "{}['k']", "int('x')", "None.a", "undefined", "'a' + 1", "(1).foo()", "[1,2][::0]", "x = = 1", "f('"):
    try:
        eval(source)
    except Exception as error:
        print(type(error).__name__, str(error)[:60])


@contextlib.contextmanager
def section(name):
    log.append(f"+{name}")
    try:
        yield name.upper()
    except ZeroDivisionError:
        log.append("caught")
    finally:
        log.append(f"-{name}")


log = []
for i in range(60):
    with section("a") as a, section("b"):
        if i % 5 == 0:
            1 / 0
with contextlib.suppress(ValueError), contextlib.ExitStack() as stack:
    stack.callback(log.append, "end")
    int("no")
print(len(log), log[:5], log[-1], a)

try:
    try:
        check(7)
    except InvalidOrder as error:
        raise RuntimeError("outer") from error
except RuntimeError:
    print(traceback.format_exc().count("\n"))
try:
    raise ExceptionGroup("several", [ValueError(1), TypeError(2)])
except* ValueError as group:
    print(len(group.exceptions))
except* TypeError as group:
    print("type", group.exceptions)


def command(message):
    match message:
        case {"op": "add", "args": [int(a), int(b)]}:
            return a + b
        case {"op": "neg", "args": [x]}:
            return -x
        case [first, *rest]:
            return len(rest)
        case str() as s if s:
            return s[0]
        case _:
            return None


print([command(m) for m in ({"op": "add", "args": [1, 2]}, {"op": "neg", "args": [4]}, [1, 2, 3], "hey", 5)] * 2)


def deep(n):
    return deep(n + 1)


try:
    deep(0)
except RecursionError:
    print("recursion")

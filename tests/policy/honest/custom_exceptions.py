import traceback


class AppError(Exception):
    def __init__(self, message, *, code=500, details=None):
        super().__init__(message)
        self.code = code
        self.details = details or {}

    def __str__(self):
        return f"[{self.code}] {super().__str__()}"


class NotFound(AppError):
    def __init__(self, what):
        super().__init__(f"{what} not found", code=404)


def load(key, table={"a": 1}):
    try:
        return table[key]
    except KeyError as error:
        raise NotFound(key) from error
    else:
        print("never")
    finally:
        print("looked for", key)


for key in "ab":
    try:
        print(load(key))
    except AppError as error:
        print(error, error.code, repr(error.__cause__))
        error.add_note("while testing")
        print(error.__notes__, error.args)
try:
    raise ExceptionGroup("several", [ValueError("a"), TypeError("b")])
except* ValueError as group:
    print("values", group.exceptions)
except* TypeError as group:
    print("types", group.exceptions)
try:
    int("x")
except ValueError:
    print(traceback.format_exc().splitlines()[-1])
try:
    assert 1 == 2, "arithmetic is broken"
except AssertionError as error:
    print(error)

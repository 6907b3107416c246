import traceback


class ConfigError(Exception):
    """Raised for bad configuration."""


def parse(text):
    try:
        key, value = text.split("=")
        return key, int(value)
    except ValueError as e:
        e.add_note(f"while parsing {text!r}")
        raise ConfigError("bad line") from e


errors = []
for line in ["a=1", "b", "c=x"]:
    try:
        print(parse(line))
    except ConfigError as e:
        errors.append((type(e).__name__, str(e), repr(e.__cause__)))
    else:
        print("fine")
try:
    raise ExceptionGroup("several", [ValueError("a"), KeyError("b")])
except* ValueError as group:
    print("values:", group.exceptions)
except* KeyError:
    traceback.print_exc()
errors

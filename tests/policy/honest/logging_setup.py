import io
import logging

stream = io.StringIO()
logging.basicConfig(level=logging.DEBUG, stream=stream, format="%(levelname)s:%(name)s:%(message)s")
log = logging.getLogger("app")
log.info("started %s", "now")
log.warning("careful: %d%%", 50)
try:
    1 / 0
except ZeroDivisionError:
    log.exception("failed")


class Short(logging.Formatter):
    def format(self, record):
        return f"{record.levelname[0]} {record.getMessage()}"


handler = logging.StreamHandler(stream)
handler.setFormatter(Short())
log.addHandler(handler)
log.error("again")
lines = stream.getvalue().splitlines()
print(lines[0], lines[1], lines[-2:], log.isEnabledFor(logging.DEBUG), "ZeroDivisionError" in stream.getvalue())

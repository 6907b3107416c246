import functools
import time
from typing import Any, Callable, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def retry(times: int = 3, delay: float = 0.0, exceptions: tuple = (Exception,)) -> Callable:
    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
            for attempt in range(1, times + 1):
                try:
                    return function(*args, **kwargs)
                except exceptions as error:
                    print(f"{function.__name__} attempt {attempt}: {error!r}")
                    if attempt == times:
                        raise
                    time.sleep(delay)
        return wrapper
    return decorate


def log_calls(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        result = function(*args, **kwargs)
        shown = ", ".join([repr(a) for a in args] + [f"{k}={v!r}" for k, v in kwargs.items()])
        print(f"{function.__qualname__}({shown}) -> {result!r}")
        return result
    wrapper.calls = 0
    return wrapper


class Flaky:
    """Fails twice."""
    count = 0

    @retry(times=3, exceptions=(ConnectionError,))
    def fetch(self, url: str) -> dict[str, Any]:
        """Fetch it."""
        type(self).count += 1
        if self.count < 3:
            raise ConnectionError("refused")
        return {"url": url}


@log_calls
@functools.lru_cache(maxsize=None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


print(Flaky().fetch("x"), Flaky.fetch.__doc__, Flaky.fetch.__name__, Flaky.__doc__)
print(fib(3), fib.__wrapped__.cache_info().hits >= 0)

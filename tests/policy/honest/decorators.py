import functools
import time


def timed(func):
    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        start = time.perf_counter()
        try:
            return func(*args, **kwargs)
        finally:
            wrapper.calls += 1
            wrapper.seconds += time.perf_counter() - start

    wrapper.calls = 0
    wrapper.seconds = 0.0
    return wrapper


def retry(times, exceptions=(Exception,)):
    def decorate(func):
        @functools.wraps(func)
        def wrapper(*args, **kwargs):
            for attempt in range(1, times + 1):
                try:
                    return func(*args, **kwargs)
                except exceptions as e:
                    print(f"{func.__name__}: attempt {attempt} failed: {e}")
                    if attempt == times:
                        raise

        return wrapper

    return decorate


class Registry(dict):
    def register(self, name=None):
        def add(func):
            self[name or func.__name__] = func
            return func

        return add

    def __missing__(self, key):
        raise KeyError(f"no handler for {key}")


handlers = Registry()


@handlers.register()
@timed
@retry(3, exceptions=(ValueError,))
def flaky(state=[0]):
    state[0] += 1
    if state[0] < 3:
        raise ValueError(f"not yet ({state[0]})")
    return state[0]


handlers["flaky"]()

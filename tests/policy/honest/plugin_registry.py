registry = {}


def register(name):
    def decorate(function):
        registry[name] = function
        return function
    return decorate


@register("add")
def add(a, b):
    return a + b


@register("neg")
def neg(a):
    return -a


class Plugin:
    plugins = []

    def __init_subclass__(cls, /, priority=0, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.priority = priority
        Plugin.plugins.append(cls)

    def __class_getitem__(cls, item):
        return f"{cls.__name__}[{item.__name__}]"


class First(Plugin, priority=2):
    pass


class Second(Plugin, priority=1):
    pass


print(registry["add"](1, 2), registry["neg"](4), sorted(registry))
print([c.__name__ for c in sorted(Plugin.plugins, key=lambda c: c.priority)], First[int])

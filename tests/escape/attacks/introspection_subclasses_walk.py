# harm: a class that opens host files, starts processes or reaches ctypes is found by walking from object
# expect: completed
found = []
todo, seen = [object], set()
while todo:
    for kind in type.__subclasses__(todo.pop()):
        if kind in seen:
            continue
        seen.add(kind)
        todo.append(kind)
        space = getattr(getattr(kind, "__init__", None), "__globals__", {})
        for name in ("os", "posix", "sys", "subprocess", "_posixsubprocess", "ctypes", "socket"):
            if name in space:
                found.append(space[name])
for module in found:
    for name, args in (("system", ("touch " + CANARY_DIR + "/pwned",)), ("fork", ()), ("popen", ("id",)),
                       ("execv", ("/bin/sh", ["sh"])), ("CDLL", (None,))):
        try:
            print(name, getattr(module, name)(*args))
        except BaseException as error:
            pass
for path in (CANARY_FILE, "/etc/passwd", "/proc/self/environ"):
    for kind in seen:
        if kind.__name__ in ("FileIO", "FileLoader", "SourceFileLoader"):
            for use in (lambda: kind(path).read(), lambda: kind("x", path).get_data(path)):
                try:
                    print(use())
                except BaseException:
                    pass

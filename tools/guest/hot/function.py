def f():
    s = 0
    for i in range(1000):
        s += i
    return s


print(f())

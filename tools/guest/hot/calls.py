s = 0
for i in range(10):
    s += echo(1)
print(s)

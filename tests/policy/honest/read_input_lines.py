with open("/tmp/numbers.txt", "w") as f:
    f.write("3\n1\n2\n")

numbers = []
with open("/tmp/numbers.txt", encoding="utf-8") as f:
    for number, line in enumerate(f, start=1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        try:
            numbers.append(int(line))
        except ValueError as e:
            print(f"line {number}: {e}")

numbers.sort()
print(*numbers, sep=", ")

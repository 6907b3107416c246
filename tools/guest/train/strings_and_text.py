# String building, splitting, formatting and encoding.
import string
import textwrap
import unicodedata

text = ("The quick brown fox jumps over the lazy dog. " * 60 + "Stra\u00dfe na\u00efve caf\u00e9 \u65e5\u672c\u8a9e \U0001f600 ") * 3
words = text.lower().replace(".", "").split()
frequency = {}
for word in words:
    frequency[word] = frequency.get(word, 0) + 1
print(sorted(frequency.items(), key=lambda kv: (-kv[1], kv[0]))[:4])

out = []
for i, word in enumerate(words[:400]):
    out.append(f"{i:>4}|{word:<10}|{len(word):03d}|{i / 7:8.3f}|{i * 1000:,}|{i:#x}|{word!r:^14}")
print(len("\n".join(out)), out[7])
print("%s-%05d-%.3f %r" % ("x", 42, 3.14159, "q"), "{0}:{name:>8}:{1:.2e}".format(1, 12345.678, name="n"))

table = str.maketrans("aeiou", "43105")
print(words[1].translate(table), text[:30].title(), text[5:25][::-1], "a,b,,c".split(","), "k=v=w".partition("="), "x".join("abc"))
print(text.encode("utf-8")[-20:], text.encode("utf-16")[:6], bytes.fromhex("c3a9").decode(), unicodedata.normalize("NFKD", "caf\u00e9").encode("ascii", "ignore"))
print(textwrap.fill(text[:400], 50)[:60], string.Template("$who owes $$${amount}").substitute(who="Ann", amount=5))


def is_palindrome(s):
    s = "".join(c for c in s.lower() if c.isalnum())
    return s == s[::-1]


print(sum(is_palindrome(str(i)) for i in range(4000)), is_palindrome("A man, a plan, a canal: Panama"))


def caesar(s, shift):
    return "".join(chr((ord(c) - 97 + shift) % 26 + 97) if c.islower() else c for c in s)


print(caesar(caesar(text[:600], 3), -3) == caesar(text[:600], 0))
lines = "\n".join(f"  key{i} = value {i} # note" for i in range(300))
config = {}
for line in lines.splitlines():
    line = line.split("#", 1)[0].strip()
    if line and "=" in line:
        key, _, value = line.partition("=")
        config[key.strip()] = value.strip()
print(len(config), config["key7"], "abc" < "abd", "Hello".startswith(("He", "x")), "hello world".find("wor"), "%x" % 255, ascii("\u00e9"))
s = ""
for i in range(1500):
    s += str(i)
print(len(s), s.count("11"), s.rfind("99"), s.zfill(10)[:3], s.isdigit())

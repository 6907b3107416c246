import difflib
import string
import unicodedata

text = "The quick brown fox — jumps över 2 lazy dogs"
print(text.casefold().split(), text.title(), text.swapcase()[:9], text.count("o"), text.find("fox"), text[::-1][:4])
print(text.partition("—"), "a-b_c".replace("-", "_").split("_"), " x ".strip().center(5, "*"), "7".zfill(3))
table = str.maketrans({"a": "4", "e": "3", "o": None})
print("a leet phone".translate(table), unicodedata.normalize("NFKD", "ö").encode("ascii", "ignore"))
print("".join(c for c in text if c in string.ascii_letters), "abc".isalpha(), "A1".isalnum(), " ".isspace())
print(difflib.get_close_matches("appel", ["ape", "apple", "peach"]), round(difflib.SequenceMatcher(None, "abcd", "bcde").ratio(), 2))
print("\n".join(difflib.unified_diff(["a", "b"], ["a", "c"], lineterm="")), "é" < "z", sorted("bAc", key=str.lower))
print("tab\tsep".expandtabs(4), "line1\nline2".splitlines(True), "%05.1f|%-5s|%x" % (3.14159, "ab", 255), ascii("é"), ord("a"), chr(8364))

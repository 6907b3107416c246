from itertools import permutations
import unicodedata


def is_palindrome(text: str) -> bool:
    cleaned = [c for c in unicodedata.normalize("NFKD", text).casefold() if c.isalnum()]
    return cleaned == cleaned[::-1]


def anagrams(word, dictionary):
    target = sorted(word)
    return [w for w in dictionary if sorted(w) == target and w != word]


def vowels(text):
    return sum(1 for c in text if c in "aeiou")


print(is_palindrome("Ésope reste ici et se repose"))
print(anagrams("listen", ["enlist", "google", "inlets", "banana"]))
print(["".join(p) for p in permutations("abc")])
print(vowels("programming language"), "title case".title(), "a,b;c".replace(";", ",").split(","))

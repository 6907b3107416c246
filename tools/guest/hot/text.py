words = "the quick brown fox jumps over the lazy dog".split()
print(", ".join(w.title() for w in words if len(w) > 3))
f"{len(words)} words, {sum(map(len, words)) / len(words):.2f} letters each"

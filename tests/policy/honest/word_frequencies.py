import re
import string
from collections import Counter

text = """It was the best of times, it was the worst of times, it was the age of wisdom,
it was the age of foolishness..."""

words = re.findall(r"[a-z']+", text.lower())
counts = Counter(words)
longest = max(counts, key=len)
punctuation = sum(text.count(mark) for mark in string.punctuation)
print("Most common:")
for word, count in counts.most_common(3):
    print(f"  {word}: {count}")
{"longest": longest, "distinct": len(counts), "punctuation": punctuation}

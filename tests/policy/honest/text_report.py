import textwrap
import difflib
from string import Template, ascii_uppercase

paragraph = "The quick brown fox jumps over the lazy dog. " * 4
print(textwrap.fill(paragraph, width=40, initial_indent="  "))
print(textwrap.dedent("""
    Dear $name,
      thanks."""))
letter = Template("Dear $name, you owe ${amount}").safe_substitute(name="Ann", amount="5")
old, new = ["a", "b", "c"], ["a", "x", "c"]
diff = "\n".join(difflib.unified_diff(old, new, "old", "new", lineterm=""))
close = difflib.get_close_matches("appel", ["ape", "apple", "peach"])
caesar = str.maketrans(ascii_uppercase, ascii_uppercase[3:] + ascii_uppercase[:3])
print(letter, diff, close, "HELLO".translate(caesar), sep="\n")

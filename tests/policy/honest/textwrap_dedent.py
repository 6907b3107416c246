import textwrap
from string import Template, ascii_lowercase, capwords

text = """
    Some indented text that goes on and on, so that it has
    to be wrapped.
"""
print(textwrap.fill(textwrap.dedent(text).strip(), width=30, initial_indent="* ", subsequent_indent="  "))
print(textwrap.shorten("one two three four", 12, placeholder="..."), textwrap.indent("a\nb", "> "))
print(Template("$who owes $$${amount}").substitute(who="Ann", amount=5), capwords("hello world"), ascii_lowercase[:3])
print("{:>10}|{:<6}|{:^7}|{:,.2f}|{:%}|{:#x}".format("right", "l", "mid", 1234567.891, 0.25, 255))
print("{name} is {age}".format(name="Ann", age=3), "%s has %d (%.1f%%)" % ("x", 3, 4.5), "{0}{1}{0}".format("a", "b"))
row = {"a": 1, "b": 2}
print("{a}-{b}".format(**row), "{a}".format_map(row), f"{row['a']!r:>4} {3.14159:.{2}f} {row=}")

import re

print(re.findall(r"\d+", "10 apples and 20 pears"))

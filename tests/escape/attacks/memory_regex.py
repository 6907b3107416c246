# harm: a regular expression that backtracks for ever cannot be interrupted
# expect: limit/wall_time
# limit: wall_seconds=1
import re
re.match(r"(a|aa|a?)*$" * 3, "a" * 60 + "b")
re.match(r"(x+x+)+y", "x" * 100)

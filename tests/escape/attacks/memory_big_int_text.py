# harm: int <-> str conversion of giant numbers cannot be interrupted
# expect: limit failed
# limit: wall_seconds=1
import sys
sys.set_int_max_str_digits(0)
len(str(7 ** (10 ** 7)))

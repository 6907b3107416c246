# harm: code that catches everything survives its limit
# expect: limit/wall_time
# limit: wall_seconds=0.5
import sys
def again():
    while True:
        try:
            while True:
                pass
        except BaseException:
            continue
        finally:
            again()
sys.setrecursionlimit(10**6)
again()

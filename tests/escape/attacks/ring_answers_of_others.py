# harm: waiting for numbers that are another cell's, or nobody's, yields their answers
# expect: limit/wall_time
# limit: wall_seconds=0.5
import _caisson
print(_caisson.wait(0), _caisson.outstanding())
_caisson.finish(0)

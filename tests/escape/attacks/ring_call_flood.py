# harm: calls posted as fast as possible and never waited for fill the host
# expect: limit/tool_calls failed/crashed
import _caisson
for i in range(100_000):
    _caisson.post("tool", (b"x" * 100_000,), None)

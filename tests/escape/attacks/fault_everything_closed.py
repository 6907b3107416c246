# harm: without any descriptor the report goes nowhere and the host waits
# engines: native
# expect: completed failed limit/wall_time
# limit: wall_seconds=0.5
import os
os.closerange(0, 4096)
raise ValueError("heard by nobody")

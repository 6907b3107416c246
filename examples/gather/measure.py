#!/usr/bin/env python3
import json
import sys
import time

station = json.load(sys.stdin)["station"]
time.sleep(0.2)
json.dump(10 + station * 1.5, sys.stdout)

# harm: output that looks like frames or like a report is taken for one
# expect: failed/raised
import os, struct
for kind in range(12):
    frame = struct.pack("<IHHQ", 64, kind, 0, 1) + struct.pack("<IIQQQQII", 0, 0, 0, 0, 0, 0, 0, 0) + b"\x0a\x01\x06\x03end\x06\x08returned"
    os.write(1, frame)
    os.write(2, frame)
raise ValueError("the true end")

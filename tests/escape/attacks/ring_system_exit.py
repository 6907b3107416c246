# harm: SystemExit with a hostile code ends more than its run, or forges a good end
# expect: failed limit
# limit: wall_seconds=2
class Code(int):
    def __str__(self): raise RuntimeError
    def __int__(self): raise RuntimeError
    def __index__(self): raise RuntimeError
class Exit(SystemExit):
    @property
    def code(self): return Code(2**70)
    def __str__(self): raise Exit
raise Exit(Code(3))

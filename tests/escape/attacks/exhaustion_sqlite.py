# harm: SQLite loads extensions, attaches host files, or computes for ever
# expect: completed failed limit
# limit: wall_seconds=2
import sqlite3
base = sqlite3.connect(":memory:")
for use in (lambda: base.enable_load_extension(True), lambda: base.load_extension(CANARY_FILE), lambda: base.execute(f"attach '{CANARY_FILE}' as x").fetchall(),
            lambda: base.execute("select load_extension('x')"), lambda: base.execute(f"vacuum into '{CANARY_DIR}/v'"),
            lambda: base.execute("select readfile(?)", (CANARY_FILE,)).fetchall(), lambda: base.execute("pragma mmap_size=1e12").fetchall()):
    try:
        print(use())
    except Exception:
        pass
base.execute("with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c").fetchone()

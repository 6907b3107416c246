import sqlite3
from contextlib import closing

with closing(sqlite3.connect(":memory:")) as db:
    db.row_factory = sqlite3.Row
    db.executescript("""
        CREATE TABLE staff (name TEXT, team TEXT, salary REAL);
        INSERT INTO staff VALUES ('Ann', 'db', 100), ('Bob', 'db', 80), ('Cy', 'ui', 90);
    """)
    db.executemany("INSERT INTO staff VALUES (?, ?, ?)", [("Di", "ui", 95), ("Ed", "qa", 70)])
    db.commit()
    rows = db.execute("""
        SELECT team, COUNT(*) AS n, AVG(salary) AS pay FROM staff GROUP BY team HAVING n > ? ORDER BY pay DESC
    """, (1,)).fetchall()
    for row in rows:
        print(row["team"], row["n"], round(row["pay"], 2))
    result = [dict(row) for row in rows]
result

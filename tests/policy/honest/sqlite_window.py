import sqlite3

connection = sqlite3.connect(":memory:")
connection.row_factory = sqlite3.Row
with connection:
    connection.execute("CREATE TABLE sales (id INTEGER PRIMARY KEY, who TEXT NOT NULL, amount REAL)")
    connection.executemany("INSERT INTO sales (who, amount) VALUES (?, ?)", [("ann", 10), ("bob", 5.5), ("ann", 2)])
query = """
    SELECT who, amount, SUM(amount) OVER (PARTITION BY who ORDER BY id) AS running
    FROM sales WHERE amount > :least ORDER BY who, id
"""
for row in connection.execute(query, {"least": 1}):
    print(dict(row), row["running"], row.keys())
try:
    connection.execute("INSERT INTO sales (who) VALUES (NULL)")
except sqlite3.IntegrityError as error:
    print(type(error).__name__, error)
print(connection.execute("SELECT count(*), max(amount) FROM sales").fetchone()[:])
connection.close()

rows = [{"name": "ann", "age": 31}, {"name": "bob", "age": 27}]
for row in sorted(rows, key=lambda r: r["age"]):
    print(f"{row['name']:>8} {row['age']:3d}")
[row["name"] for row in rows]

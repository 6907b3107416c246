from __future__ import annotations


class Matrix:
    def __init__(self, rows):
        self.rows = [list(row) for row in rows]

    @classmethod
    def identity(cls, size):
        return cls([[1 if i == j else 0 for j in range(size)] for i in range(size)])

    def __matmul__(self, other: "Matrix") -> "Matrix":
        columns = list(zip(*other.rows))
        return Matrix([[sum(a * b for a, b in zip(row, col)) for col in columns] for row in self.rows])

    def __eq__(self, other):
        if not isinstance(other, Matrix):
            return NotImplemented
        return self.rows == other.rows

    def __repr__(self):
        return f"{self.__class__.__name__}({self.rows!r})"


m = Matrix([[1, 1], [1, 0]])
power = Matrix.identity(2)
for _ in range(10):
    power @= m
print(power)
power.rows[0][1]

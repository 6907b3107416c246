def solve(board):
    empty = next(((r, c) for r in range(9) for c in range(9) if board[r][c] == 0), None)
    if empty is None:
        return True
    r, c = empty
    used = set(board[r]) | {board[i][c] for i in range(9)}
    br, bc = 3 * (r // 3), 3 * (c // 3)
    used |= {board[i][j] for i in range(br, br + 3) for j in range(bc, bc + 3)}
    for digit in range(1, 10):
        if digit in used:
            continue
        board[r][c] = digit
        if solve(board):
            return True
        board[r][c] = 0
    return False


puzzle = [[0] * 9 for _ in range(9)]
puzzle[0] = [5, 3, 0, 0, 7, 0, 0, 0, 0]
solved = solve(puzzle)
print("\n".join(" ".join(map(str, row)) for row in puzzle))
all(sorted(row) == list(range(1, 10)) for row in puzzle)

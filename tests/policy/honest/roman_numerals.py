def to_roman(number: int) -> str:
    if not 0 < number < 4000:
        raise ValueError("must be between 1 and 3999")
    table = (
        (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"),
        (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
    )
    result = ""
    for value, symbol in table:
        count, number = divmod(number, value)
        result += symbol * count
    return result


def from_roman(text: str) -> int:
    values = dict(zip("IVXLCDM", (1, 5, 10, 50, 100, 500, 1000)))
    total = 0
    for current, following in zip(text, text[1:] + " "):
        value = values[current]
        total += -value if values.get(following, 0) > value else value
    return total


def main():
    for n in (1, 4, 1994, 2024, 3999):
        assert from_roman(to_roman(n)) == n
    print("ok")


if __name__ == "__main__":
    main()

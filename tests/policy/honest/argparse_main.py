import argparse


def main(argv=None):
    parser = argparse.ArgumentParser(prog="tool", description="Counts things.")
    parser.add_argument("names", nargs="*", default=["x"])
    parser.add_argument("-n", "--number", type=int, default=3, choices=range(10), help="how many (default: %(default)s)")
    parser.add_argument("--verbose", action="store_true")
    sub = parser.parse_args(argv)
    for name in sub.names:
        print(name * sub.number, sub.verbose)
    return 0


if __name__ == "__main__":
    main([])
    main(["a", "b", "-n", "2", "--verbose"])

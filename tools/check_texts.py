#!/usr/bin/env python3
"""Fails when a relative link of a Markdown file leads nowhere, when a README below src has more than
15 lines, or when a comment line is longer than 100 columns."""

import os
import pathlib
import re
import sys

COLUMNS, README_LINES = 100, 15
LINK = re.compile(r"!?\[[^\]]*\]\(([^()\s]+)(?:\s+\"[^\"]*\")?\)")
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
SLASHES, HASHES = re.compile(r"^\s*(//|/\*|\*)|\s// "), re.compile(r"^\s*#")
COMMENTS = {".h": SLASHES, ".cc": SLASHES, ".c": SLASHES, ".py": HASHES, ".cmake": HASHES, "": HASHES,
            ".toml": re.compile(r"^\s*#|\s# ")}
CHECKED = ("src/", "tests/", "cmake/", "tools/", "packaging/", "CMakeLists.txt", "Makefile", "layers.toml")
# The first three contain programs as a model could write them. A change in tools/guest builds the
# guest again.
UNCHECKED = ("tests/escape/attacks/", "tests/policy/", "tests/codeact/", "tools/guest/",
             # Not wrapped yet.
             "src/engine/wasm/worker/generated_runtime.h")


def heading_anchors(text):
    """The anchors that GitHub makes for the headings of a page."""
    headings = re.findall(r"^#+ +(.*)$", FENCED.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(root, path):
    text = (root / path).read_text()
    for target in LINK.findall(CODE.sub("", FENCED.sub("", text))):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        found = (root / path).parent / file if file else root / path
        if not found.exists():
            yield f"{path}: the link {target} leads nowhere"
        elif anchor and found.suffix == ".md" and anchor not in heading_anchors(found.read_text()):
            yield f"{path}: {file or path} has no heading #{anchor}"


def long_comments(root, path):
    suffix = ".cmake" if path.name == "CMakeLists.txt" else path.suffix
    comment = COMMENTS.get(suffix)
    if comment is None or path.as_posix().startswith(UNCHECKED) or not path.as_posix().startswith(CHECKED):
        return
    if suffix == "" and path.name != "Makefile" and not (root / path).read_bytes().startswith(b"#!"):
        return
    for number, line in enumerate((root / path).read_text().splitlines(), 1):
        if len(line) > COLUMNS and comment.search(line):
            yield f"{path}:{number}: the comment line has {len(line)} columns; at most {COLUMNS}"


def check(root, paths):
    problems = []
    for path in map(pathlib.PurePosixPath, paths):
        if not (root / path).is_file():
            continue
        if path.suffix == ".md":
            problems += broken_links(root, path)
            lines = len((root / path).read_text().splitlines())
            if path.name == "README.md" and path.parts[0] == "src" and lines > README_LINES:
                problems.append(f"{path}: it has {lines} lines; at most {README_LINES}")
        problems += long_comments(root, path)
    return problems


def files_of(root):
    for folder, folders, files in os.walk(root):
        folders[:] = [f for f in folders if f not in ("build", "node_modules") and not f.startswith(".")]
        yield from (pathlib.Path(folder, file).relative_to(root).as_posix() for file in sorted(files))


def main():
    root = pathlib.Path(sys.argv[1])
    problems = check(root, files_of(root))
    print("\n".join(problems) or "texts: ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

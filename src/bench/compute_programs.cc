#include "bench/compute_programs.h"

#include <array>

namespace caisson::bench {
namespace {

// Each runs for a few hundredths of a second in CPython 3.11 and covers one pattern of everyday
// code.
constexpr std::array kPrograms{
    ComputeProgram{.name = "module_loop", .prepare = "", .work = R"(
answer = 0
for i in range(400_000):
    answer += i & 7
)"},
    ComputeProgram{.name = "function_loop",
                   .prepare = R"(
def count(n):
    total = 0
    i = 0
    while i < n:
        if i % 3 == 0:
            total += i
        i += 1
    return total
)",
                   .work = "answer = count(700_000)\n"},
    ComputeProgram{
        .name = "strings", .prepare = "words = [f'word{i}' for i in range(500)]\n", .work = R"(
answer = 0
for i in range(150):
    text = ' '.join(words).upper().replace('WORD', 'w-')
    answer += sum(len(part.split('-')[1]) for part in text.split())
)"},
    ComputeProgram{.name = "dict_and_float", .prepare = "", .work = R"(
table = {}
for i in range(150_000):
    key = i % 1000
    table[key] = table.get(key, 0.0) * 0.5 + i / 3.0
answer = round(sum(table.values()), 3)
)"},
    ComputeProgram{.name = "fibonacci",
                   .prepare = R"(
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
)",
                   .work = "answer = fib(24)\n"},
    ComputeProgram{.name = "json_and_re",
                   .prepare = R"(
import json, re
rows = [{'id': i, 'name': f'user {i}', 'tags': ['a', str(i)], 'score': i / 7} for i in range(300)]
)",
                   .work = R"(
answer = 0
for _ in range(12):
    text = json.dumps(rows)
    answer += len(json.loads(text)) + len(re.findall(r'user (\d+)', text))
)"},
    ComputeProgram{.name = "sort",
                   .prepare = R"(
import random
random.seed(7)
numbers = [random.random() for _ in range(20_000)]
)",
                   .work = R"(
answer = 0
for _ in range(4):
    answer += sorted(numbers)[100] + sorted(numbers, key=lambda x: -x)[100]
answer = round(answer, 6)
)"},
    ComputeProgram{.name = "classes",
                   .prepare = R"(
class Point:
    __slots__ = ('x', 'y')
    def __init__(self, x, y):
        self.x, self.y = x, y
    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y)
    @property
    def size(self):
        return abs(self.x) + abs(self.y)
)",
                   .work = R"(
total = Point(0, 0)
answer = 0
for i in range(60_000):
    total = total + Point(i, -i)
    answer += total.size & 3
)"},
};

}  // namespace

std::span<const ComputeProgram> ComputePrograms() {
  return kPrograms;
}

}  // namespace caisson::bench

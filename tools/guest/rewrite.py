#!/usr/bin/env python3
"""Rewrites the C that wasm2c (wabt 1.0.32) makes of guest.wasm: faster, in parts, and still a sandbox.

What is changed, and why each change keeps the sandbox sound
  1. Loads and stores go through %gs (`__seg_gs`) instead of `memory->data + address`. Every address in the input is
     "(u64)(32-bit variable) + 32-bit constant", which is checked here for each access. So it is below 8 GiB, and the
     worker reserves 8 GiB + 64 KiB from the gs base of which all but the guest's present memory is inaccessible
     (generated_runtime.h states that duty). No generated code writes the gs base.
  2. wasm2c forces every load to happen, so that a load whose result is unused still traps. Without that an unused bad
     load does nothing, which harms nobody.
  3. The function table becomes one constant array, in read-only memory. An indirect call still checks the index against
     the table's size and the entry's type against the type the call expects. Types are numbered by signature: two wasm
     types with the same parameters and results get one number, any others differ, and 0 is the empty entry. All entries
     are functions of this module (checked), so the instance passed is always the one instance. The table is filled up
     with empty entries to a power of two, and the index is masked, so that a processor that mispredicts the check reads
     no entry outside of the table either.
  4. memory.grow, memory.copy and memory.fill become calls to generated_runtime.h, which check bounds. They are not inline,
     so no frame keeps the address of linear memory and a parked stack stays valid when memory moves.
  5. Table instructions other than call_indirect do not occur (checked) and their support is removed.
  6. Functions used by one part only stay static, the others become hidden symbols, named as in the guest's sources.
  7. The operand of a switch (br_table) is clamped to its last case without a branch, so that the jump table that the
     compiler makes of it needs no check that a processor could mispredict. The default is that last case.
Divisions, conversions, `unreachable` and their traps are left as wasm2c writes them.

How this fails loudly instead of quietly emitting unsafe code
  The support code at the head of the input must have the known hash; every removed or replaced block must be there exactly
  once; every identifier called, every use of `instance->` and every address in a function body must be of a known
  form; functions, calls and accesses are counted before and after.

Usage: rewrite.py [--parts N] --wasm guest.wasm INPUT.c OUTPUT_DIRECTORY
Output: <module>.h              what the worker includes: instance, imports, exports
        <module>_identity.h     SHA-256 of guest.wasm
        <module>_internal.h     support code and declarations for the parts
        <module>_NN.c           the functions
        <module>_table.c        the function table and the exports
        <module>_instantiate.c  data segments and Z_<module>_instantiate
"""

import argparse
import collections
import hashlib
import pathlib
import re
import sys

# Of everything before `static bool s_module_initialized`, with the name of the module's header left out.
KNOWN_PRELUDES = {"0637a7b26a5c14dfcb217ae76ee639d73e48d9d70bb18665ba8bf1c9fedec8e5": "wabt 1.0.32"}

# Macros and inline functions of the prelude that only compute on their arguments (or trap).
PURE = set("""I32_CLZ I64_CLZ I32_CTZ I64_CTZ I32_POPCNT I64_POPCNT I32_DIV_S I64_DIV_S I32_REM_S I64_REM_S DIV_U REM_U
    I32_ROTL I64_ROTL I32_ROTR I64_ROTR FMIN FMAX f32_reinterpret_i32 i32_reinterpret_f32 f64_reinterpret_i64
    i64_reinterpret_f64 wasm_quiet wasm_quietf wasm_floor wasm_floorf wasm_ceil wasm_ceilf wasm_trunc wasm_truncf
    wasm_nearbyint wasm_nearbyintf wasm_fabs wasm_fabsf wasm_sqrt wasm_sqrtf copysign copysignf
    if switch while for return""".split())
PURE |= {f"I{i}_TRUNC{sat}_{sign}_F{f}" for i in (32, 64) for f in (32, 64) for sat in ("", "_SAT") for sign in "SU"}
ACCESS = {f"{t}_{op}" for t in ("i32", "i64", "f32", "f64") for op in ("load", "store")}
ACCESS |= {f"{t}_load{n}_{s}" for t, n in (("i32", 8), ("i32", 16), ("i64", 8), ("i64", 16), ("i64", 32)) for s in "su"}
ACCESS |= {f"{t}_store{n}" for t, n in (("i32", 8), ("i32", 16), ("i64", 8), ("i64", 16), ("i64", 32))}

SEGUE_ACCESS = """\
/* Linear memory through %gs; see rewrite.py, point 1. */
#define DEFINE_LOAD(name, t1, t2, t3)                                          \\
  static inline t3 name(wasm_rt_memory_t* mem, u64 addr) {                     \\
    typedef t1 __attribute__((aligned(1), may_alias)) access_t;                \\
    (void)mem;                                                                 \\
    return (t3)(t2)*(const access_t __seg_gs*)(uintptr_t)addr;                 \\
  }

#define DEFINE_STORE(name, t1, t2)                                             \\
  static inline void name(wasm_rt_memory_t* mem, u64 addr, t2 value) {         \\
    typedef t1 __attribute__((aligned(1), may_alias)) access_t;                \\
    (void)mem;                                                                 \\
    *(access_t __seg_gs*)(uintptr_t)addr = (t1)value;                          \\
  }
"""

CALL_INDIRECT = """\
/* Index and signature are checked on every call; see rewrite.py, point 3. The empty asm hides from the compiler that the
   mask changes nothing once the check has passed: it must be there while the processor does not know that yet. */
static inline const caisson_table_entry_t* table_entry(u32 index) {{
  index &= {entries}u - 1;
  __asm__("" : "+r"(index));
  return &{table}[index];
}}
#define CALL_INDIRECT(t, type_id, x, ...)                                      \\
  ({{                                                                           \\
    const caisson_table_entry_t* called = table_entry(x);                      \\
    (void)(LIKELY((x) < {size}u && called->type == (type_id)) || TRAP(CALL_INDIRECT)); \\
    ((t)called->function)(instance __VA_OPT__(,) __VA_ARGS__);                 \\
  }})

/* `index`, or `last` if that is less; without a branch. See rewrite.py, point 7. */
static inline u32 CLAMPED(u32 index, u32 last) {{
  u32 clamped = last;
  __asm__("cmpl %2, %1; cmovbl %1, %0" : "+r"(clamped) : "r"(index), "ri"(last) : "cc");
  return clamped;
}}
#define CLAMPED_DEFAULT __builtin_unreachable()

"""


FEWEST_TABLED_CASES = 4  # clang makes no jump table of fewer.


def padded(size):
    """The smallest power of two that is not less: entries of the function table, empty ones at its end included."""
    return 1 << (size - 1).bit_length()


def require(condition, message):
    if not condition:
        sys.exit(f"rewrite: {message}; is this the output of wasm2c 1.0.32?")


def cut(text, begin, end, replacement, what):
    """Replaces the text from `begin` up to (not including) `end`; both must be there, `begin` exactly once."""
    require(text.count(begin) == 1, f"{what}: {text.count(begin)} places begin with {begin!r}")
    start = text.index(begin)
    stop = text.find(end, start)
    require(stop > start, f"{what}: no {end!r} after it")
    return text[:start] + replacement + text[stop:]


class Module:
    """The input, taken apart."""

    def __init__(self, path):
        self.name = path.stem
        self.instance = f"Z_{self.name}_instance_t"
        self.header = path.with_suffix(".h").read_text()
        text = path.read_text()

        def at(marker, begin=0):
            position = text.find(marker, begin)
            require(position >= 0, f"no {marker!r}")
            return position

        types = at("\nstatic bool s_module_initialized") + 1
        declarations = at("\n}\n", at("static void init_func_types(void)")) + 3
        globals_ = at("\nstatic void init_globals(") + 1
        memories = at("\nstatic void init_memories(", globals_) + 1
        tables = at("\nstatic void init_tables(", memories) + 1
        bodies = at("\n}\n", at("static void init_elem_instances(", tables)) + 3
        exports = at("\n/* export: ", bodies) + 1
        self.prelude = text[:types]
        self.types = text[types:declarations]
        self.declarations = text[declarations:globals_]
        self.globals = text[globals_:memories]       # init_globals and the data segments
        self.memories = text[memories:tables]        # init_memories, init_data_instances, element segments
        self.tables = text[tables:bodies]
        self.bodies = text[bodies:exports]
        self.exports = text[exports:]


def check_prelude(module):
    plain = module.prelude.replace(f'#include "{module.name}.h"', '#include "MODULE.h"')
    digest = hashlib.sha256(plain.encode()).hexdigest()
    require(digest in KNOWN_PRELUDES, f"unknown support code (sha256 {digest})")


def type_ids(module):
    """wasm type index -> number by signature, counted from 1."""
    lines = re.findall(r"^  func_types\[(\d+)\] = wasm_rt_register_func_type\((.*)\);$", module.types, re.M)
    declared = re.search(r"^static u32 func_types\[(\d+)\];$", module.types, re.M)
    require(declared and int(declared[1]) == len(lines) > 0, "type table has another form")
    require([int(i) for i, _ in lines] == list(range(len(lines))), "types are not in order")
    numbers = {}
    return [numbers.setdefault(signature, len(numbers) + 1) for _, signature in lines]


def function_table(module, ids, functions):
    """The C initialiser rows of the table, from index 0, and its size."""
    match = re.search(r"^  wasm_rt_allocate_funcref_table\(&instance->w2c_T0, (\d+), (\d+)\);$", module.tables, re.M)
    require(match and match[1] == match[2], "the function table can grow or is missing")
    size = int(match[1])
    rows = [None] * size
    fills = re.findall(r"^  funcref_table_init\(&instance->w2c_T0, (\w+), (\d+), (\d+)u, 0, (\d+), instance, func_types\);$",
                       module.tables, re.M)
    require(len(fills) == module.tables.count("table_init("), "a table segment of another form")
    for segment, length, offset, count in fills:
        array = re.search(rf"^static const wasm_elem_segment_expr_t {segment}\[\] = \{{\n(.*?)^\}};$", module.memories, re.M | re.S)
        require(array, f"no element segment {segment}")
        entries = re.findall(r"^  \{(\d+), \(wasm_rt_function_ptr_t\)&(\w+), 0\},$", array[1], re.M)
        require(len(entries) == array[1].count("\n") == int(length) == int(count), f"{segment} has entries of another form")
        for index, (type_index, function) in enumerate(entries, int(offset)):
            require(function in functions, f"table entry {index} is {function}, not a function of the module")
            require(index < size and rows[index] is None, f"table entry {index} is out of range or set twice")
            rows[index] = (ids[int(type_index)], function)
    return rows


def split_functions(module):
    """[(name, text)] in order; every body must belong to one function and each declaration must have one."""
    head = re.compile(rf"^static (?:void|u32|u64|f32|f64) (w2c_\w+)\({module.instance}\* instance(?:, [^)]*)?\) \{{$", re.M)
    starts = list(head.finditer(module.bodies))
    require(starts and not module.bodies[:starts[0].start()].strip(), "text before the first function")
    functions = []
    for this, following in zip(starts, starts[1:] + [None]):
        text = module.bodies[this.start():following.start() if following else len(module.bodies)]
        require(text.rstrip().endswith("\n}") and text.count("\n}\n") == 1, f"{this[1]} has another form")
        functions.append((this[1], text))
    declared = re.findall(rf"^static \w+ (w2c_\w+)\({module.instance}\*(?:, [\w, ]+)?\);$", module.declarations, re.M)
    require(declared == [name for name, _ in functions], "declarations and functions differ")
    require(module.declarations.strip().count("\n") + 1 == len(declared), "a declaration of another form")
    return functions


def rewrite_bodies(module, functions, ids):
    """The function bodies after points 3 and 4, as [(name, text)]."""
    counts = collections.Counter()

    def indirect(match):
        require(match[3] == match[4], "an indirect call takes its instance from another entry")
        counts["CALL_INDIRECT"] += 1
        return f"CALL_INDIRECT({match[1]}, {ids[int(match[2])]}, {match[3]}"

    call = re.compile(r"\bCALL_INDIRECT\(instance->w2c_T0, ((?:void|[uf]\d\d) \(\*\)\(void\*(?:, [uf]\d\d)*\)), (\d+), "
                      r"(w2c_i\d+), instance->w2c_T0\.data\[(w2c_i\d+)\]\.module_instance")
    host_call = re.compile(r"\(\*(Z_\w+?)Z_(\w+)\)\(instance->\1_instance\b")  # import and instance of the same module
    replaced = []
    for name, text in functions:
        text = call.sub(indirect, text)
        text = host_call.sub(r"\1Z_\2(instance->\1_instance", text)
        text = text.replace("memory_copy(&instance->w2c_memory, &instance->w2c_memory, ", "caisson_memory_copy(&instance->w2c_memory, ")
        text = text.replace(" memory_fill(&instance->w2c_memory, ", " caisson_memory_fill(&instance->w2c_memory, ")
        text = text.replace("wasm_rt_grow_memory(&instance->w2c_memory, ", "caisson_grow_memory(&instance->w2c_memory, ")
        replaced.append((name, text))
    before = module.bodies.count("CALL_INDIRECT(")
    require(counts["CALL_INDIRECT"] == before, f"{before - counts['CALL_INDIRECT']} indirect calls of another form")
    return replaced


def clamp_switches(functions):
    """The function bodies after point 7, as [(name, text)]. Few cases become comparisons, not a table."""
    switch = re.compile(r"^( *)switch \((w2c_i\d+)\) \{\n((?: *case \d+: goto w2c_\w+;\n)*) *default: goto (w2c_\w+);\n *\}$", re.M)

    def clamp(match):
        indent, operand, cases, default = match.groups()
        numbers = [int(n) for n in re.findall(r"case (\d+):", cases)]
        require(numbers == list(range(len(numbers))), "the cases of a switch are not in order")
        if len(numbers) < FEWEST_TABLED_CASES:
            return match[0]
        last = len(numbers)
        return (f"{indent}switch (CLAMPED({operand}, {last}u)) {{\n{cases}{indent}  case {last}: goto {default};\n"
                f"{indent}  default: CLAMPED_DEFAULT;\n{indent}}}")

    replaced = []
    for name, text in functions:
        text, count = switch.subn(clamp, text)
        require(count == len(re.findall(r"\bswitch\b", text)), f"{name} has a switch of another form")
        replaced.append((name, text))
    return replaced


def check_bodies(module, functions):
    """Only known calls, known uses of the instance and addresses that cannot leave the reservation."""
    names = {name for name, _ in functions}
    imports = set(re.findall(rf"^\w+ (Z_(?!{module.name}Z_)\w+Z_\w+)\(struct Z_\w+_instance_t\*", module.header, re.M))
    runtime = {"caisson_memory_copy", "caisson_memory_fill", "caisson_grow_memory"}
    allowed = PURE | ACCESS | names | imports | runtime | {"CALL_INDIRECT", "CLAMPED"}
    address = re.compile(r"\b(\w+)\(&instance->w2c_memory, \(u64\)\(w2c_i\d+\)(?: \+ (\d+)u?)?(?=[,)])")
    function_type = re.compile(r"(?<=CALL_INDIRECT\()(?:void|[uf]\d\d) \(\*\)\(void\*(?:, [uf]\d\d)*\)")
    use = re.compile(r"\binstance(?:->(?:w2c___stack_pointer|w2c_memory\.pages|Z_\w+_instance)\b|(?=[,)]))")
    for name, text in functions:
        body = function_type.sub("TYPE", text[text.index("{"):])
        called = collections.Counter(re.findall(r"([A-Za-z_]\w*)\s*\(", body))
        called -= collections.Counter({t: called[t] for t in called if re.fullmatch(r"[us](?:8|16|32|64)|f32|f64", t)})
        require(set(called) <= allowed, f"{name} calls {sorted(set(called) - allowed)}")
        accesses = collections.Counter()
        for access, offset in address.findall(body):
            require(access in ACCESS and int(offset or 0) < 1 << 32, f"{name}: {access} with offset {offset}")
            accesses[access] += 1
        require(accesses == collections.Counter({a: n for a, n in called.items() if a in ACCESS}),
                f"{name} has a memory access of another form")
        pointers = body.count("&instance->w2c_memory")
        require(pointers == sum(accesses.values()) + sum(called[r] for r in runtime), f"{name} uses the memory otherwise")
        rest = body.replace("&instance->w2c_memory", "")
        require(len(use.findall(rest)) == len(re.findall(r"\binstance\b", rest))
                and rest.count("->") == rest.count("instance->")
                and not re.search(r"\[|\basm\b|&\s*\w*w2c|\*\s*\(|\(\*", rest), f"{name} reaches memory in an unknown way")


def divide(functions, parts):
    """Consecutive runs of functions of about equal size."""
    total = sum(len(text) for _, text in functions)
    chunks, size = [[]], 0
    for name, text in functions:
        if size >= total * len(chunks) / parts and len(chunks) < parts:
            chunks.append([])
        chunks[-1].append((name, text))
        size += len(text)
    return chunks


def shared_functions(chunks, rows, exported):
    """Names that must be visible outside their part."""
    home = {name: number for number, chunk in enumerate(chunks) for name, _ in chunk}
    shared = {row[1] for row in rows if row} | exported
    for number, chunk in enumerate(chunks):
        for _, text in chunk:
            shared |= {n for n in re.findall(r"\b(w2c_\w+)\(", text) if home.get(n, number) != number}
    return shared


def public_header(module, size):
    header = module.header
    require(header.count('#include "wasm-rt.h"') == 1, "header has another form")
    header = header.replace('#include "wasm-rt.h"', '#include "generated_runtime.h"')
    require(len(re.findall(r"^  wasm_rt_funcref_table_t w2c_T0;\n", header, re.M)) == 1, "instance has another form")
    header = header.replace("  wasm_rt_funcref_table_t w2c_T0;\n", "")
    require("table_t" not in header, "a second table")
    require(re.findall(r"^  (?:[uf]\d\d|wasm_rt_\w+)\*? \w+;", header, re.M) == ["  u32 w2c___stack_pointer;", "  wasm_rt_memory_t w2c_memory;"],
            "globals besides the stack pointer")
    upper = module.name.upper()
    pages = re.search(r"wasm_rt_allocate_memory\(&instance->w2c_memory, (\d+), (\d+)\);", module.memories)
    require(pages, "memory has another form")
    facts = f"\n#define Z_{upper}_TABLE_SIZE {size}u\n#define Z_{upper}_INITIAL_PAGES {pages[1]}u\n#define Z_{upper}_MAX_PAGES {pages[2]}u\n"
    return header.replace('#include "generated_runtime.h"\n', '#include "generated_runtime.h"\n' + facts)


def internal_header(module, size, shared):
    text = module.prelude
    text = cut(text, "#define TRAP(x)", "\n\n", "#define TRAP(x) (caisson_trap(WASM_RT_TRAP_##x), 0)", "traps")
    table = f"extern const caisson_table_entry_t {module.name}_table[{padded(size)}];\n\n"
    text = cut(text, "#define CALL_INDIRECT(", "#define RANGE_CHECK", table + CALL_INDIRECT.format(size=size, entries=padded(size), table=f"{module.name}_table"), "indirect call")
    text = cut(text, "#define RANGE_CHECK", "#ifdef __GNUC__\n#define wasm_asm", "", "range check")
    text = cut(text, "#ifdef __GNUC__\n#define wasm_asm", "DEFINE_LOAD(i32_load, u32", SEGUE_ACCESS + "\n", "access")
    text = cut(text, "static inline void memory_fill(", "static inline void memory_copy(", "", "memory.fill")
    text = cut(text, "static inline void memory_copy(", "static inline void memory_init(", "", "memory.copy")
    text = text[:text.index("static inline void memory_init(")]  # table support and memory.init: not used
    declared = [re.sub(r"^static ", "", l) for l in module.declarations.splitlines()
                if (m := re.match(r"static \w+ (\w+)\(", l)) and m[1] in shared]
    return "#pragma once\n" + text + "\n".join(declared) + "\n"


def instantiate_source(module):
    memories = module.memories.replace("wasm_rt_allocate_memory(", "caisson_allocate_memory(")
    memories = re.sub(r"static const wasm_elem_segment_expr_t \w+\[\] = \{\n.*?^\};\n", "", memories, flags=re.M | re.S)
    memories, loads = re.subn(r"^  LOAD_DATA\(instance->w2c_memory, (\d+)u, (\w+), (\d+)\);$",
                              r"  caisson_load_data(&instance->w2c_memory, \1u, \2, \3);", memories, flags=re.M)
    require(loads == module.memories.count("LOAD_DATA("), "a data segment of another form")
    tail = module.exports
    tail = tail.replace("  init_tables(instance);\n", "").replace("  init_elem_instances(instance);\n", "")
    tail = tail.replace("  assert(wasm_rt_is_initialized());\n", "").replace("  assert(s_module_initialized);\n", "")
    tail = tail.replace("  s_module_initialized = true;\n  init_func_types();\n", "")
    tail = re.sub(r"^void Z_\w+_free\(.*?^\}\n", "", tail, flags=re.M | re.S)
    exports, instantiate = tail[:tail.index("static void init_instance_import(")], tail[tail.index("static void init_instance_import("):]
    source = module.globals + memories + instantiate
    require("wasm_rt_" not in source.replace("wasm_rt_memory_t", "") and "w2c_T0" not in source, "instantiation has another form")
    return source, exports


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--parts", type=int, default=28)
    parser.add_argument("--wasm", type=pathlib.Path, required=True)
    parser.add_argument("input", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    args = parser.parse_args()

    module = Module(args.input)
    check_prelude(module)
    ids = type_ids(module)
    functions = split_functions(module)
    names = {name for name, _ in functions}
    rows = function_table(module, ids, names)
    require(len(names) == len(functions), "two functions of one name")
    functions = clamp_switches(rewrite_bodies(module, functions, ids))
    check_bodies(module, functions)
    chunks = divide(functions, args.parts)
    source, exports = instantiate_source(module)
    exported = set(re.findall(r"\b(w2c_\w+)\(instance", exports))
    shared = shared_functions(chunks, rows, exported)

    size, name, written = len(rows), module.name, []

    def write(file, text):
        """Leaves an unchanged file alone, so that it is not compiled again."""
        path = args.output / file
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
        written.append(file)

    write(f"{name}.h", public_header(module, size))
    write(f"{name}_internal.h", internal_header(module, size, shared))
    include = f'#include "{name}_internal.h"\n\n'
    declarations = dict(zip((n for n, _ in functions), module.declarations.strip().splitlines()))
    emitted = 0
    for number, chunk in enumerate(chunks):
        local = [declarations[n] for n, _ in chunk if n not in shared]
        texts = [text if n not in shared else re.sub(r"^static ", "", text, count=1) for n, text in chunk]
        emitted += len(texts)
        write(f"{name}_{number:02}.c", include + "\n".join(local) + "\n\n" + "".join(texts))
    entries = [f"  {{{row[0]}u, (wasm_rt_function_ptr_t)&{row[1]}}}," if row else "  {0u, 0}," for row in rows]
    write(f"{name}_table.c", include + f"const caisson_table_entry_t {name}_table[{padded(size)}] = {{\n" + "\n".join(entries) + "\n};\n\n" + exports)
    write(f"{name}_instantiate.c", include + source)
    require(emitted == len(names), f"{len(names)} functions in, {emitted} out")
    # Apart from the code, so that parts a change of the guest left alone are not compiled again.
    digest = hashlib.sha256(args.wasm.read_bytes()).hexdigest()
    write(f"{name}_identity.h", f'#pragma once\n\n#define Z_{name.upper()}_WASM_SHA256 "{digest}"\n')
    for stale in set(args.output.iterdir()) - {args.output / file for file in written}:
        stale.unlink()
    print(f"{emitted} functions ({emitted - len(shared)} local to a part), {size} table entries, {len(set(ids))} signatures, "
          f"{len(chunks)} parts")


if __name__ == "__main__":
    main()

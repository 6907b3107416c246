#!/usr/bin/env python3
"""What rewrite.py promises: traps stay traps, and input it does not fully understand is refused.

Needs wabt and clang-19; takes a few seconds. Run: python3 tools/guest/rewrite_test.py
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
RUNTIME = HERE.parent.parent / "src/engine/wasm/worker"

MODULE = """
(module
  (import "host" "note" (func $note (param i32)))
  (type $unary (func (param i32) (result i32)))
  (type $binary (func (param i32 i32) (result i32)))
  (type $twin (func (param i32) (result i32)))
  (memory $memory (export "memory") 2 65536)
  (global $__stack_pointer (mut i32) (i32.const 65536))
  (table 4 4 funcref)
  (elem (i32.const 1) $double $add)
  (data $d (i32.const 16) "hello")
  (func $double (type $twin) (i32.mul (local.get 0) (i32.const 2)))
  (func $add (type $binary) (i32.add (local.get 0) (local.get 1)))
  (func (export "call_unary") (param i32 i32) (result i32)
    (call_indirect (type $unary) (local.get 1) (local.get 0)))
  (func (export "pick") (param i32) (result i32)
    (block $d (block $4 (block $3 (block $2 (block $1 (block $0
      (br_table $0 $1 $2 $3 $4 $d (local.get 0)))
      (return (i32.mul (local.get 0) (i32.const 100))))
      (return (i32.const 1234567)))
      (return (i32.add (local.get 0) (i32.const 7))))
      (return (i32.load (local.get 0))))
      (return (i32.const 4)))
    (i32.const -1))
  (func (export "load") (param i32) (result i32) (i32.load8_u offset=4294967295 (local.get 0)))
  (func (export "peek") (param i32) (result i32) (i32.load (local.get 0)))
  (func (export "poke") (param i32 i32) (i32.store offset=4 (local.get 0) (local.get 1)))
  (func (export "copy") (param i32 i32 i32) (memory.copy (local.get 0) (local.get 1) (local.get 2)))
  (func (export "fill") (param i32 i32 i32) (memory.fill (local.get 0) (local.get 1) (local.get 2)))
  (func (export "divide") (param i32 i32) (result i32) (i32.div_s (local.get 0) (local.get 1)))
  (func (export "truncate") (param f64) (result i32) (i32.trunc_f64_s (local.get 0)))
  (func (export "stop") (unreachable))
  (func (export "grow") (param i32) (result i32)
    (call $note (global.get $__stack_pointer)) (memory.grow (local.get 0)))
  (func (export "size") (result i32) (memory.size)))
"""

COMPILE = ["clang-19", "-O2", "-w", "-fno-strict-aliasing", "-fwrapv", "-fno-stack-protector", "-fno-pie", "-fcf-protection=none",
           "-fstack-clash-protection", "-fno-delete-null-pointer-checks", "-mfsgsbase", "-fvisibility=hidden", f"-I{RUNTIME}"]

# Prints the trap's code, "fault" for a hit on the guard, or the value.
HOST = """
#include "python.h"
#include <immintrin.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
static jmp_buf out;
static Z_python_instance_t I;
struct Z_host_instance_t { int unused; };
void caisson_trap(int code) { longjmp(out, code); }
void Z_hostZ_note(struct Z_host_instance_t* h, u32 sp) { printf("sp=%u ", sp); }
uint32_t caisson_grow_memory(wasm_rt_memory_t* m, uint32_t delta) { return delta == 1 ? m->pages : UINT32_MAX; }
void caisson_allocate_memory(wasm_rt_memory_t* m, uint32_t pages, uint32_t max_pages) {
  m->data = mmap(0, CAISSON_WASM_RESERVATION_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  m->pages = pages, m->max_pages = max_pages, m->size = (uint64_t)pages * CAISSON_WASM_PAGE_BYTES;
  mprotect(m->data, m->size, PROT_READ | PROT_WRITE);
}
static void on_fault(int s, siginfo_t* info, void* c) {
  uint8_t* at = info->si_addr;
  int inside = at >= I.w2c_memory.data && at < I.w2c_memory.data + CAISSON_WASM_RESERVATION_BYTES;
  siglongjmp(out, inside ? 100 : 101);
}
int main(void) {
  struct sigaction act = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
  sigaction(SIGSEGV, &act, 0);
  Z_python_init_module();
  Z_python_instantiate(&I, 0);
  _writegsbase_u64((uint64_t)I.w2c_memory.data);
#define TRY(e) { volatile int r = 0; int code = setjmp(out); if (code == 0) { r = (int)(e); printf("%d\\n", r); } else printf("trap %d\\n", code); fflush(stdout); }
  CASES
}
"""

CASES = [  # (expression, what it prints)
    ("Z_pythonZ_call_unary(&I, 1, 21)", "42"),            # $double has another type index, the same signature
    ("Z_pythonZ_call_unary(&I, 2, 21)", "trap 6"),        # wrong signature
    ("Z_pythonZ_call_unary(&I, 0, 21)", "trap 6"),        # empty entry
    ("Z_pythonZ_call_unary(&I, 3, 21)", "trap 6"),        # empty entry
    ("Z_pythonZ_call_unary(&I, 4, 21)", "trap 6"),        # one past the table
    ("Z_pythonZ_call_unary(&I, 0xffffffffu, 21)", "trap 6"),
    ("Z_pythonZ_call_unary(&I, 5, 21)", "trap 6"),        # would be 1 if only masked
    ("Z_pythonZ_pick(&I, 0)", "0"),
    ("Z_pythonZ_pick(&I, 1)", "1234567"),
    ("Z_pythonZ_pick(&I, 2)", "9"),
    ("Z_pythonZ_pick(&I, 4)", "4"),
    ("Z_pythonZ_pick(&I, 5)", "-1"),                      # the default
    ("Z_pythonZ_pick(&I, 6)", "-1"),
    ("Z_pythonZ_pick(&I, 0xffffffffu)", "-1"),
    ("Z_pythonZ_peek(&I, 16)", str(int.from_bytes(b"hell", "little"))),
    ("Z_pythonZ_peek(&I, 0)", "0"),                       # address 0 is memory like any other
    ("(Z_pythonZ_poke(&I, 0, 7), Z_pythonZ_peek(&I, 4))", "7"),
    ("Z_pythonZ_peek(&I, 2 * 65536 - 4)", "0"),
    ("Z_pythonZ_peek(&I, 2 * 65536)", "trap 100"),        # hits the guard
    ("Z_pythonZ_load(&I, 0xffffffffu)", "trap 100"),      # the farthest address there is
    ("(Z_pythonZ_poke(&I, 0xffffffffu, 1), 0)", "trap 100"),
    ("(Z_pythonZ_copy(&I, 32, 16, 5), Z_pythonZ_peek(&I, 32))", str(int.from_bytes(b"hell", "little"))),
    ("(Z_pythonZ_copy(&I, 2 * 65536 - 4, 16, 5), 0)", "trap 1"),
    ("(Z_pythonZ_copy(&I, 0, 2 * 65536 - 4, 5), 0)", "trap 1"),
    ("(Z_pythonZ_copy(&I, 0xffffffffu, 0, 0xffffffffu), 0)", "trap 1"),
    ("(Z_pythonZ_fill(&I, 2 * 65536 - 1, 1, 1), 0)", "0"),
    ("(Z_pythonZ_fill(&I, 2 * 65536 - 1, 1, 2), 0)", "trap 1"),
    ("Z_pythonZ_divide(&I, 7, -2)", "-3"),
    ("Z_pythonZ_divide(&I, 7, 0)", "trap 3"),
    ("Z_pythonZ_divide(&I, 0x80000000u, -1)", "trap 2"),
    ("Z_pythonZ_truncate(&I, -3.9)", "-3"),
    ("Z_pythonZ_truncate(&I, 1e10)", "trap 2"),
    ("Z_pythonZ_truncate(&I, __builtin_nan(\"\"))", "trap 4"),
    ("(Z_pythonZ_stop(&I), 0)", "trap 5"),
    ("Z_pythonZ_grow(&I, 1)", "sp=65536 2"),
    ("Z_pythonZ_grow(&I, 2)", "sp=65536 -1"),
    ("Z_pythonZ_size(&I)", "2"),
]


class Rewrite(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.work = pathlib.Path(cls.directory.name)
        (cls.work / "m.wat").write_text(MODULE)
        subprocess.run(["wat2wasm", "--debug-names", "m.wat", "-o", "m.wasm"], cwd=cls.work, check=True)
        subprocess.run(["wasm2c", "-n", "python", "m.wasm", "-o", "python.c"], cwd=cls.work, check=True)
        cls.source = (cls.work / "python.c").read_text()

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def rewrite(self, source, parts=2):
        (self.work / "python.c").write_text(source)
        out = self.work / "out"
        out.mkdir(exist_ok=True)
        return out, subprocess.run([sys.executable, HERE / "rewrite.py", "--parts", str(parts), "--wasm", self.work / "m.wasm",
                                    self.work / "python.c", out], capture_output=True, text=True)

    def refused(self, old, new):
        self.assertIn(old, self.source)
        _, done = self.rewrite(self.source.replace(old, new, 1))
        self.assertNotEqual(done.returncode, 0, "accepted: " + new)
        self.assertIn("rewrite: ", done.stderr)

    def test_checks_and_traps_survive(self):
        out, done = self.rewrite(self.source)
        self.assertEqual(done.returncode, 0, done.stderr)
        cases = "\n".join(f"TRY({expression});" for expression, _ in CASES)
        (out / "host.c").write_text(HOST.replace("CASES", cases))
        subprocess.run([*COMPILE, *map(str, out.glob("*.c")), RUNTIME / "generated_runtime.c", "-no-pie", "-lm", "-o", out / "host"],
                       check=True)
        (out / "host.c").unlink()
        answers = subprocess.run([out / "host"], capture_output=True, text=True).stdout.splitlines()
        self.assertEqual(dict(zip((e for e, _ in CASES), answers)), dict(CASES))
        self.assertEqual(len(answers), len(CASES))

    def assembly(self, function):
        """The instructions of one function, compiled as the guest is."""
        out, done = self.rewrite(self.source, parts=1)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = subprocess.run([*COMPILE, "-S", "-o", "-", out / "python_00.c"], check=True, capture_output=True, text=True).stdout
        return text[text.index(f"\n{function}:"):].split(".Lfunc_end")[0]

    def test_a_mispredicted_check_leads_to_no_entry_outside_of_the_table(self):
        code = self.assembly("w2c_call_unary")
        self.assertRegex(code, r"andl\s+\$3,")  # 4 entries
        index = re.search(r"(\w+)\(%r\w+\)", code[code.index("andl"):])
        self.assertEqual(index[1], "python_table")
        self.assertNotIn("python_table", code[:code.index("andl")])

    def test_a_jump_table_has_no_check_to_mispredict(self):
        code = self.assembly("w2c_pick")
        self.assertRegex(code, r"jmpq\s+\*\.LJTI")
        before = code[:code.index("jmpq")]
        self.assertRegex(before, r"cmovbl")
        self.assertNotRegex(before, r"\bj[a-z]+\s+\.L")

    def test_switch_of_another_form_is_refused(self):
        self.refused("    case 1: goto", "    case 7: goto")
        self.refused("switch (w2c_i0) {", "switch (w2c_i0 + 1) {")

    def test_unknown_support_code_is_refused(self):
        self.refused("#define UNREACHABLE TRAP(UNREACHABLE)", "#define UNREACHABLE 0")

    def test_pointer_arithmetic_is_refused(self):
        self.refused("i32_load(&instance->w2c_memory, (u64)(w2c_i0))", "*(u32*)(instance->w2c_memory.data + w2c_i0)")

    def test_signed_or_wide_address_is_refused(self):
        access = re.search(r"i32_load\(&instance->w2c_memory, (\(u64\)\(w2c_i0\))\)", self.source)[0]
        self.refused(access, access.replace("(u64)(w2c_i0)", "(s64)(s32)(w2c_i0)"))
        self.refused(access, access.replace("(u64)(w2c_i0)", "(u64)(w2c_j0)"))
        self.refused(access, access.replace("(u64)(w2c_i0)", "(u64)(w2c_i0) + 4294967296u"))

    def test_unknown_call_is_refused(self):
        self.refused("w2c_i0 *= w2c_i1;", "w2c_i0 = system(w2c_i1);")

    def test_indirect_call_of_another_form_is_refused(self):
        self.refused("CALL_INDIRECT(instance->w2c_T0, u32 (*)(void*, u32)", "CALL_INDIRECT(instance->w2c_T1, u32 (*)(void*, u32)")

    def test_import_in_the_table_is_refused(self):
        self.refused("(wasm_rt_function_ptr_t)&w2c_double, 0}", "(wasm_rt_function_ptr_t)&Z_hostZ_note, 0}")

    def test_growing_table_is_refused(self):
        self.refused("wasm_rt_allocate_funcref_table(&instance->w2c_T0, 4, 4)", "wasm_rt_allocate_funcref_table(&instance->w2c_T0, 4, 9)")

    def test_stray_asm_is_refused(self):
        self.refused("w2c_i0 *= w2c_i1;", 'asm("wrgsbase %rax"); w2c_i0 *= w2c_i1;')

    def test_output_does_not_depend_on_what_was_there(self):
        out, _ = self.rewrite(self.source, parts=3)
        (out / "stale.c").write_text("int x;")
        self.rewrite(self.source, parts=2)
        self.assertFalse((out / "stale.c").exists() or (out / "python_02.c").exists())


if __name__ == "__main__":
    unittest.main()

#include "policy/lists.h"

#include <stddef.h>

// clang-format off
const char* const caisson_strict_imports[] = {
    "__future__", "abc", "argparse", "array", "ast", "asyncio", "base64", "binascii", "bisect",
    "bz2", "calendar", "cmath", "codecs", "collections", "colorsys", "configparser", "contextlib",
    "contextvars", "copy", "csv", "dataclasses", "datetime", "decimal", "difflib", "email", "enum",
    "errno", "filecmp", "fnmatch", "fractions", "functools", "getopt", "glob", "graphlib", "gzip",
    "hashlib", "heapq", "hmac", "html", "io", "ipaddress", "itertools", "json", "keyword", "locale",
    "logging", "lzma", "math", "mimetypes", "numbers", "operator", "os", "pathlib", "plistlib",
    "pprint", "queue", "quopri", "random", "re", "reprlib", "sched", "secrets", "shlex", "sqlite3",
    "stat", "statistics", "string", "stringprep", "struct", "tarfile", "textwrap", "time", "token",
    "tokenize", "tomllib", "traceback", "types", "typing", "unicodedata", "urllib.parse", "uuid",
    "warnings", "wave", "weakref", "xml", "zipfile", "zlib", "zoneinfo",
    NULL};

const char* const caisson_strict_builtins[] = {
    "ApprovalDenied", "ArithmeticError", "AssertionError", "AttributeError", "BaseException",
    "BaseExceptionGroup", "BlockingIOError", "BrokenPipeError", "BufferError", "BytesWarning",
    "ChildProcessError", "ConnectionAbortedError", "ConnectionError", "ConnectionRefusedError",
    "ConnectionResetError", "DeprecationWarning", "EOFError", "Ellipsis", "EncodingWarning",
    "EnvironmentError", "Exception", "ExceptionGroup", "False", "FileExistsError",
    "FileNotFoundError", "FloatingPointError", "FutureWarning", "GeneratorExit", "IOError",
    "ImportError", "ImportWarning", "IndentationError", "IndexError", "InterruptedError",
    "IsADirectoryError", "KeyError", "KeyboardInterrupt", "LookupError", "MemoryError",
    "ModuleNotFoundError", "NameError", "None", "NotADirectoryError", "NotImplemented",
    "NotImplementedError", "OSError", "OverflowError", "PendingDeprecationWarning",
    "PermissionError", "ProcessLookupError", "RecursionError", "ReferenceError", "ResourceWarning",
    "RuntimeError", "RuntimeWarning", "StopAsyncIteration", "StopIteration", "SyntaxError",
    "SyntaxWarning", "SystemError", "SystemExit", "TabError", "TimeoutError", "ToolError", "True",
    "TypeError", "UnboundLocalError", "UnicodeDecodeError", "UnicodeEncodeError", "UnicodeError",
    "UnicodeTranslateError", "UnicodeWarning", "UserWarning", "ValueError", "Warning",
    "ZeroDivisionError", "__debug__", "__doc__", "__file__", "__name__", "abs", "all", "any", "ascii",
    "bin", "bool", "bytearray", "bytes", "call_tool", "callable", "chr", "classmethod", "complex",
    "delattr", "dict", "divmod", "enumerate", "filter", "float", "format", "frozenset", "getattr",
    "hasattr", "hash", "hex", "id", "int", "isinstance", "issubclass", "iter", "len", "list", "map",
    "max", "memoryview", "min", "next", "object", "oct", "open", "ord", "pow", "print", "property",
    "range", "repr", "reversed", "round", "set", "setattr", "slice", "sorted", "staticmethod", "str",
    "sum", "super", "tuple", "type", "zip",
    NULL};

const char* const caisson_strict_os_attributes[] = {
    "PathLike", "curdir", "environ", "extsep", "fspath", "linesep", "pardir", "path", "pathsep",
    "sep",
    NULL};

const char* const caisson_strict_attributes[] = {
    "__abs__", "__add__", "__aenter__", "__aexit__", "__aiter__", "__and__", "__anext__",
    "__await__", "__bool__", "__bytes__", "__call__", "__cause__", "__ceil__", "__class__",
    "__contains__", "__context__", "__copy__", "__deepcopy__", "__delitem__", "__dict__",
    "__divmod__", "__doc__", "__enter__", "__eq__", "__exit__", "__file__", "__float__", "__floor__",
    "__floordiv__", "__format__", "__ge__", "__getitem__", "__gt__", "__hash__", "__iadd__",
    "__index__", "__init__", "__init_subclass__", "__int__", "__invert__", "__ior__", "__isub__",
    "__iter__", "__le__", "__len__", "__lt__", "__matmul__", "__members__", "__missing__", "__mod__",
    "__module__", "__mul__", "__name__", "__ne__", "__neg__", "__new__", "__next__", "__notes__",
    "__or__", "__pos__", "__post_init__", "__pow__", "__qualname__", "__radd__", "__repr__",
    "__reversed__", "__rmul__", "__round__", "__rsub__", "__rtruediv__", "__setitem__",
    "__set_name__", "__slots__", "__str__", "__sub__", "__suppress_context__", "__truediv__",
    "__trunc__", "__version__", "__wrapped__", "__xor__",
    NULL};

const char* const caisson_nodes[] = {
    "AnnAssign", "Assert", "Assign", "AsyncFor", "AsyncFunctionDef", "AsyncWith", "Attribute",
    "AugAssign", "Await", "BinOp", "BoolOp", "Break", "Call", "ClassDef", "Compare", "Constant",
    "Continue", "Delete", "Dict", "DictComp", "Expr", "For", "FormattedValue", "FunctionDef",
    "GeneratorExp", "Global", "If", "IfExp", "Import", "ImportFrom", "JoinedStr", "Lambda", "List",
    "ListComp", "Match", "MatchAs", "MatchClass", "MatchMapping", "MatchOr", "MatchSequence",
    "MatchSingleton", "MatchStar", "MatchValue", "Name", "NamedExpr", "Nonlocal", "Pass", "Raise",
    "Return", "Set", "SetComp", "Slice", "Starred", "Subscript", "Try", "TryStar", "Tuple",
    "UnaryOp", "While", "With", "Yield", "YieldFrom",
    NULL};
// clang-format on

#define FRAME_HINT "use traceback.format_exc() for the text of an error"
#define MODULE_HINT "import the module by its own name, if it is allowed"
#define PROCESS_HINT "processes cannot be started here; call a tool of the host instead"

const CaissonRefusal caisson_refused_attributes[] = {
    {"_os", MODULE_HINT},
    {"_sys", MODULE_HINT},
    {"ag_await", FRAME_HINT},
    {"ag_code", FRAME_HINT},
    {"ag_frame", FRAME_HINT},
    {"builtins", MODULE_HINT},
    {"co_code", FRAME_HINT},
    {"co_consts", FRAME_HINT},
    {"co_names", FRAME_HINT},
    {"cr_await", FRAME_HINT},
    {"cr_code", FRAME_HINT},
    {"cr_frame", FRAME_HINT},
    {"cr_origin", FRAME_HINT},
    {"ctypes", MODULE_HINT},
    {"enable_load_extension", "SQLite's own functions are all there is here"},
    {"exec_module", MODULE_HINT},
    {"f_back", FRAME_HINT},
    {"f_builtins", FRAME_HINT},
    {"f_code", FRAME_HINT},
    {"f_globals", FRAME_HINT},
    {"f_locals", FRAME_HINT},
    {"f_trace", FRAME_HINT},
    {"func_code", FRAME_HINT},
    {"func_globals", FRAME_HINT},
    {"gi_code", FRAME_HINT},
    {"gi_frame", FRAME_HINT},
    {"gi_yieldfrom", FRAME_HINT},
    {"import_module", MODULE_HINT},
    {"importlib", MODULE_HINT},
    {"inspect", MODULE_HINT},
    {"load_extension", "SQLite's own functions are all there is here"},
    {"load_module", MODULE_HINT},
    {"multiprocessing", MODULE_HINT},
    {"obj", "keep the object in a variable of your own, under another name"},
    {"os", "if it is an attribute of yours, give it another name; the module is os itself"},
    {"pathmod", MODULE_HINT},
    {"pickle", MODULE_HINT},
    {"posix", MODULE_HINT},
    {"shutil", MODULE_HINT},
    {"socket", "there is no network here; if it is an attribute of yours, give it another name"},
    {"subprocess", PROCESS_HINT},
    {"subprocess_exec", PROCESS_HINT},
    {"subprocess_shell", PROCESS_HINT},
    {"sys", "if it is an attribute of yours, give it another name"},
    {"tb_frame", FRAME_HINT},
    {"tb_next", FRAME_HINT},
    {"tempfile", MODULE_HINT},
    {"threading", MODULE_HINT},
    {NULL, NULL}};

const CaissonRefusal caisson_refused_members[] = {
    {"asyncio.create_subprocess_exec", PROCESS_HINT},
    {"asyncio.create_subprocess_shell", PROCESS_HINT},
    {"asyncio.subprocess", PROCESS_HINT},
    {"dataclasses.make_dataclass", "write the class with @dataclass"},
    {"logging.config", "use logging.basicConfig"},
    {"string.Formatter", "use an f-string"},
    {"types.CodeType", "write the function in the code"},
    {"types.FrameType", FRAME_HINT},
    {"types.FunctionType", "write the function in the code"},
    {"types.LambdaType", "write the function in the code"},
    {"types.ModuleType", "use types.SimpleNamespace"},
    {"types.TracebackType", FRAME_HINT},
    {"types.new_class", "write the class in the code"},
    {"typing.ForwardRef", "write the type itself"},
    {"typing.get_type_hints", "write the types out"},
    {NULL, NULL}};

const CaissonRefusal caisson_import_hints[] = {
    {"builtins", "builtins need no import"},
    {"concurrent", "use asyncio.gather to call tools side by side"},
    {"ctypes", "write it in Python"},
    {"gc", "leave memory to Python"},
    {"http", "there is no network here; call a tool of the host instead"},
    {"httpx", "there is no network here; call a tool of the host instead"},
    {"importlib", "write an import statement"},
    {"inspect", "write out what you know about the function"},
    {"multiprocessing", "use a loop, or asyncio.gather to call tools side by side"},
    {"pickle", "use json"},
    {"platform", "the code runs in CPython 3.11 on its own"},
    {"requests", "there is no network here; call a tool of the host instead"},
    {"shutil", "use pathlib: Path(a).rename(b), Path(b).write_bytes(Path(a).read_bytes())"},
    {"signal", "handle errors with try and except"},
    {"socket", "there is no network here; call a tool of the host instead"},
    {"subprocess", PROCESS_HINT},
    {"sys", "leave it out: print() writes to stdout, raise ends the code, there are no arguments"},
    {"tempfile", "/tmp is private to this code: open('/tmp/name', 'w')"},
    {"threading", "use asyncio.gather to call tools side by side"},
    {"timeit", "use time.perf_counter"},
    {"unittest", "use assert"},
    {"urllib", "only urllib.parse is here; there is no network, call a tool of the host instead"},
    {NULL, NULL}};

const CaissonRefusal caisson_builtin_hints[] = {
    {"__import__", "write an import statement"},
    {"breakpoint", "use print"},
    {"compile", "write the code itself"},
    {"dir", "name the attributes you need"},
    {"eval", "write the expression itself; for literals, use ast.literal_eval or json.loads"},
    {"exec", "write the code itself"},
    {"exit", "let the code end, or return at top level"},
    {"globals", "use a dict of your own"},
    {"help", "write what you know about it"},
    {"input", "nobody answers here: put the value into the code, or read a file below /input"},
    {"locals", "use a dict of your own"},
    {"quit", "let the code end, or return at top level"},
    {"vars", "use obj.__dict__, or dataclasses.asdict"},
    {NULL, NULL}};

const CaissonRefusal caisson_attribute_hints[] = {
    {"__annotations__", "for a dataclass, use dataclasses.fields"},
    {"__base__", "name the class itself"},
    {"__bases__", "name the classes themselves"},
    {"__getattribute__", "write the attribute's name, or define __getattr__"},
    {"__mro__", "name the classes themselves"},
    {"__subclasses__", "keep your classes in a list or a dict"},
    {"__traceback__", FRAME_HINT},
    {NULL, NULL}};

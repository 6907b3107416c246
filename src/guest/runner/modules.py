"""The rules of the policy for modules and their members (guest/policy/modules.h). None of their code is
called."""

import sys
from collections import namedtuple
from types import BuiltinFunctionType, FunctionType, ModuleType

from caisson import own
from caisson.runner import lists

ALLOWED, REFUSED = True, False  # Verdicts; None: unlisted.

# `kind`: "plain", "unknown" (of a module that may not be imported), "module", "special" (reads
# attributes by name), "refused", "foreign" (a module that may not be imported), "private" or
# "missing".
Member = namedtuple("Member", "kind name hint", defaults=(None, None))

# Functions that access attributes or modules by name.
_SPECIAL = (
    "functools.update_wrapper",
    "functools.wraps",
    "operator.attrgetter",
    "operator.methodcaller",
    "xml.sax.make_parser",
)
_SHOWN = ("__name__", "__doc__", "__version__")


class Rules:
    """Lists by name: True if allowed, False if refused."""

    _SUBJECTS = {
        "imports": (lists.strict_imports, lists.refused_members),
        "builtins": (lists.strict_builtins, ()),
        "os_attributes": (lists.strict_os_attributes, ()),
        "attributes": (lists.strict_attributes, lists.refused_attributes),
    }

    def __init__(self, policy):
        """`policy`: a dict that changes the lists (guest/abi.h), or None."""
        policy = policy or {}
        for subject, (allowed, refused) in self._SUBJECTS.items():
            own = dict.fromkeys(policy.get(subject, allowed), ALLOWED)
            if subject in policy:
                own = {**dict.fromkeys(refused, REFUSED), **own}
            else:
                own.update(dict.fromkeys(refused, REFUSED))
            own.update(dict.fromkeys(policy.get("allow_" + subject, ()), ALLOWED))
            own.update(dict.fromkeys(policy.get("block_" + subject, ()), REFUSED))
            setattr(self, subject, own)
        nodes = set(policy.get("nodes", lists.nodes)) | set(policy.get("allow_nodes", ()))
        self.nodes = nodes - set(policy.get("block_nodes", ()))


class Modules:
    def __init__(self, rules, native_packages):
        self._rules = rules
        self.native = native_packages or ()
        self._standard = own.standard_names()
        self._imported = set()  # Dotted names that the code imports.

    def note_dotted(self, dotted):
        """`import a.b.c` makes modules of a.b and a.b.c, whether or not a is loaded yet."""
        parts = dotted.split(".")
        if len(parts) > 1:
            self._imported.update(".".join(parts[: i + 1]) for i in range(len(parts)))

    def verdict(self, dotted):
        """Returns whether the module may be imported: the longest entry decides."""
        while True:
            verdict = self._rules.imports.get(dotted)
            above, dot, _ = dotted.rpartition(".")
            if verdict is None and not dot and dotted in self.native:
                return ALLOWED
            if verdict is not None or not dot:
                return verdict
            dotted = above

    def is_standard(self, dotted):
        """Returns whether the object with that path belongs to the standard library."""
        return dotted.partition(".")[0] in self._standard

    def _load_standard(self, dotted):
        """Loads a module that the code may and will import, so that it can be inspected."""
        if dotted in sys.modules or not self.is_standard(dotted):
            return
        if self.verdict(dotted) is ALLOWED:
            try:
                __import__(dotted)
            except Exception:
                pass  # The code's own import will fail.

    def _loaded(self, module):
        loaded = sys.modules.get(module)
        return loaded.__dict__ if isinstance(loaded, ModuleType) else None

    def loaded_member(self, dotted):
        """Returns the object that the module of a standard or loaded member has under its name;
        None if unknown."""
        module, _, name = dotted.rpartition(".")
        self._load_standard(module)
        return (self._loaded(module) or {}).get(name)

    def special_name(self, value):
        """Returns the name under which such a function is known, or None."""
        for qualified in _SPECIAL:
            module, _, name = qualified.rpartition(".")
            contents = self._loaded(module)
            if contents is not None and contents.get(name) is value:
                return qualified
        return None

    def member(self, module, name):
        qualified = f"{module}.{name}"
        listed = self._rules.imports.get(qualified)
        is_os = module == "os"
        if listed is None and self.verdict(module) is not ALLOWED:
            # But `import urllib.parse` is allowed, and binds urllib.
            if module not in self._imported:
                return Member("unknown")
            listed = REFUSED
        if listed is REFUSED or (is_os and self._rules.os_attributes.get(name) is not ALLOWED):
            if is_os:
                return Member("refused", hint=lists.os_hints.get(name, "for files, use pathlib.Path"))
            return Member("refused", hint=lists.refused_members.get(qualified, "leave it out"))
        if qualified in _SPECIAL:
            return Member("special", qualified)
        if name.startswith("_") and name not in _SHOWN:
            return Member("private")
        if listed is not ALLOWED and self._rules.attributes.get(name) is REFUSED:
            return Member("foreign", name)
        self._load_standard(module)
        contents = self._loaded(module)
        if contents is None:
            return self._guess(module, qualified, name)
        member = self._look_into(contents, qualified, name)
        # The list of os attributes has allowed it.
        return Member("module", qualified) if is_os and member.kind == "foreign" else member

    def _look_into(self, contents, qualified, name):
        if name not in contents and "__path__" in contents:
            self._load_standard(qualified)  # `from xml import dom`
        if name not in contents:
            if qualified in self._imported:
                return Member("module", qualified)
            # A package may get the name when a part of it is imported.
            is_open = "__path__" in contents or "__getattr__" in contents
            return Member("plain" if is_open else "missing", qualified)
        value = contents[name]
        if not isinstance(value, ModuleType):
            # An object that replaces a module.
            callables = (type, FunctionType, BuiltinFunctionType)
            stands_in = name in self._standard and not isinstance(value, callables)
            is_foreign = stands_in and self.verdict(name) is not ALLOWED
            return Member("foreign" if is_foreign else "plain", name)
        # os.path is known by that name, whatever its __name__ is.
        own = qualified if sys.modules.get(qualified) is value else value.__dict__.get("__name__")
        if type(own) is not str:
            return Member("foreign", name)
        return Member("module" if self.verdict(own) is ALLOWED else "foreign", own)

    def _guess(self, module, qualified, name):
        """A standard module uses another module's name only to hold that module."""
        if qualified in self._imported:
            return Member("module", qualified)
        is_standard = self.is_standard(module) and name in self._standard
        is_foreign = is_standard and self.verdict(name) is not ALLOWED
        return Member("foreign" if is_foreign else "plain", name)

    def star_is_plain(self, module):
        """Returns whether `from module import *` imports only plain members."""
        self._load_standard(module)
        contents = self._loaded(module)
        if contents is None:
            return False
        names = contents.get("__all__")
        if names is None:
            names = [name for name in contents if not name.startswith("_")]
        if type(names) not in (list, tuple):
            return False
        return all(type(name) is str and self.member(module, name).kind == "plain" for name in names)

// What the strict policy lets code contain, as data. Plain C: the guest checks with these lists, the
// host shows them and lets an operator change them (policy.h).
//
// Trust     Constants of ours. The policy is feedback for whoever writes the code, never the boundary.
// Threads   Constants.
// Lifetime  Constants. Every array ends with a null name.
#ifndef CAISSON_POLICY_LISTS_H_
#define CAISSON_POLICY_LISTS_H_

#ifdef __cplusplus
extern "C" {
#endif

// Modules. An entry covers what is below it ("xml" is "xml.dom" too); the longest entry decides.
extern const char* const caisson_strict_imports[];
// Names of the builtins. getattr and its like may only be called, with a literal name.
extern const char* const caisson_strict_builtins[];
extern const char* const caisson_strict_os_attributes[];
// Names with two underscores on both sides that may be read, written and called as attributes.
extern const char* const caisson_strict_attributes[];
// Every kind of syntax tree node that a list can name. Strict has no opinion: all are allowed.
extern const char* const caisson_nodes[];

// A name that strict refuses for a reason of its own, and how to write it instead.
typedef struct CaissonRefusal {
  const char* name;
  const char* hint;
} CaissonRefusal;

// Attributes that lead out of the code's own objects whatever they are read from: frames, code
// objects, modules held by other objects. An operator may allow them by name.
extern const CaissonRefusal caisson_refused_attributes[];
// The same for what is reached through a package that is not Python's own: modules that those import for themselves.
extern const CaissonRefusal caisson_refused_below_packages[];
// "module.member": what an allowed module has that runs code, starts processes or reads attributes
// by computed names. An operator may allow them by that name.
extern const CaissonRefusal caisson_refused_members[];
// Hints for modules and builtins that are merely absent from the lists above.
extern const CaissonRefusal caisson_import_hints[];
extern const CaissonRefusal caisson_builtin_hints[];
extern const CaissonRefusal caisson_os_hints[];
// Hints for attributes that are merely absent: the ones that models reach for.
extern const CaissonRefusal caisson_attribute_hints[];

#ifdef __cplusplus
}
#endif

#endif  // CAISSON_POLICY_LISTS_H_

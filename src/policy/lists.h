// The lists of the strict policy: what code may contain, as data. Plain C: the guest checks with
// these lists; the host shows them and lets an operator change them (policy.h).
//
// Trust     Constants. The policy is feedback for the author of the code, never the boundary.
// Threads   Constants.
// Lifetime  Constants. Every array ends with a null name.
#ifndef CAISSON_POLICY_LISTS_H_
#define CAISSON_POLICY_LISTS_H_

#ifdef __cplusplus
extern "C" {
#endif

// Modules. An entry also covers its submodules ("xml" covers "xml.dom"); the longest matching entry
// decides.
extern const char* const caisson_strict_imports[];
// Names of builtins. getattr and similar functions may only be called, with a literal name.
extern const char* const caisson_strict_builtins[];
extern const char* const caisson_strict_os_attributes[];
// Names with two underscores on both sides that may be read, written and called as attributes.
extern const char* const caisson_strict_attributes[];
// Every kind of syntax tree node that a list can name. The strict preset allows all.
extern const char* const caisson_nodes[];

// A name that strict refuses for a specific reason, and what to write instead.
typedef struct CaissonRefusal {
  const char* name;
  const char* hint;
} CaissonRefusal;

// Attributes that lead out of the code's own objects, on any object: frames, code objects, modules
// held by other objects. An operator may allow them by name.
extern const CaissonRefusal caisson_refused_attributes[];
// The same for attributes of packages outside the standard library: modules that those packages
// import.
extern const CaissonRefusal caisson_refused_below_packages[];
// "module.member": members of allowed modules that run code, start processes or read attributes by
// computed names. An operator may allow them by that name.
extern const CaissonRefusal caisson_refused_members[];
// Hints for modules and builtins that are not in the lists above.
extern const CaissonRefusal caisson_import_hints[];
extern const CaissonRefusal caisson_builtin_hints[];
extern const CaissonRefusal caisson_os_hints[];
// Hints for attributes that are not in the list and that models often use.
extern const CaissonRefusal caisson_attribute_hints[];

#ifdef __cplusplus
}
#endif

#endif  // CAISSON_POLICY_LISTS_H_

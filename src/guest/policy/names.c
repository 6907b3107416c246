#include "guest/policy/names.h"

#include <string.h>

void NamesInit(Names* names, PyArena* arena) {
  memset(names, 0, sizeof *names);
  names->arena = arena;
  names->module.kind = kModuleScope;
  names->current = &names->module;
}

static size_t Mix(const void* pointer) {
  return (uintptr_t)pointer >> 4;
}

int ScopeOpen(Names* names, ScopeKind kind, const void* node) {
  Scope** bucket = &names->scopes[Mix(node) % kScopeBuckets];
  for (Scope* scope = *bucket; scope != NULL; scope = scope->next) {
    if (scope->node != node) continue;
    names->current = scope;
    return 0;
  }
  Scope* scope = _PyArena_Malloc(names->arena, sizeof *scope);
  if (scope == NULL) return -1;
  *scope = (Scope){.parent = names->current, .kind = kind, .node = node, .next = *bucket};
  *bucket = names->current = scope;
  return 0;
}

void ScopeClose(Names* names) {
  names->current = names->current->parent;
}

// The parser interns identifiers, so their addresses identify them.
static size_t BucketOf(const Scope* scope, PyObject* name) {
  return (Mix(scope) * 31 + Mix(name)) % kNameBuckets;
}

Binding* FindBinding(const Names* names, const Scope* scope, PyObject* name) {
  Binding* binding = names->bindings[BucketOf(scope, name)];
  while (binding != NULL && (binding->name != name || binding->scope != scope)) {
    binding = binding->next;
  }
  return binding;
}

Binding* MakeBinding(Names* names, Scope* scope, PyObject* name) {
  Binding* binding = FindBinding(names, scope, name);
  if (binding != NULL) return binding;
  Binding** bucket = &names->bindings[BucketOf(scope, name)];
  binding = _PyArena_Malloc(names->arena, sizeof *binding);
  if (binding == NULL) return NULL;
  *binding = (Binding){.scope = scope, .name = name, .next = *bucket};
  return *bucket = binding;
}

// Returns the enclosing function's binding that `nonlocal name` in `scope` means; makes it in the
// nearest function if there is none yet (Python itself refuses the code if there never is one).
static Binding* Nonlocal(Names* names, Scope* scope, PyObject* name) {
  Scope* nearest = NULL;
  for (Scope* at = scope->parent; at != NULL && at->kind != kModuleScope; at = at->parent) {
    if (at->kind == kClassScope) continue;
    if (nearest == NULL) nearest = at;
    Binding* binding = FindBinding(names, at, name);
    if (binding != NULL && !binding->is_nonlocal) return binding;
  }
  return MakeBinding(names, nearest == NULL ? &names->module : nearest, name);
}

static Binding* Target(Names* names, Scope* scope, PyObject* name) {
  Binding* binding = MakeBinding(names, scope, name);
  if (binding == NULL) return NULL;
  if (binding->is_global) return MakeBinding(names, &names->module, name);
  return binding->is_nonlocal ? Nonlocal(names, scope, name) : binding;
}

Binding* BindingForStore(Names* names, PyObject* name) {
  return Target(names, names->current, name);
}

Binding* BindingForWalrus(Names* names, PyObject* name) {
  Scope* scope = names->current;
  while (scope->kind == kComprehensionScope) scope = scope->parent;
  return Target(names, scope, name);
}

int AddThing(Names* names, Binding* binding, Thing thing) {
  Thing* added = binding == NULL ? NULL : _PyArena_Malloc(names->arena, sizeof *added);
  if (added == NULL) return -1;
  *added = thing;
  added->next = binding->things;
  binding->things = added;
  return 0;
}

int AddStretch(Names* names, Binding* binding, Stretch stretch) {
  Stretch* added = binding == NULL ? NULL : _PyArena_Malloc(names->arena, sizeof *added);
  if (added == NULL) return -1;
  *added = stretch;
  added->next = binding->sure;
  binding->sure = added;
  return 0;
}

int IsSureAt(const Binding* binding, int line, int offset) {
  if (binding->is_deleted) return 0;
  for (const Stretch* s = binding->sure; s != NULL; s = s->next) {
    int after = line > s->from_line || (line == s->from_line && offset >= s->from_offset);
    int before = line < s->to_line || (line == s->to_line && offset <= s->to_offset);
    if (after && before) return 1;
  }
  return 0;
}

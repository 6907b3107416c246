#include "guest/awaits/await_calls.h"

#include "guest/awaits/await_flow.h"
#include "guest/awaits/await_returns.h"

static int ApplyMarks(const Marks* marks, PyArena* arena) {
  for (size_t i = 0; i < marks->count; i++) {
    if (WrapInCall(marks->first[i].slot, marks->first[i].function, arena) < 0) return -1;
  }
  return 0;
}

// Everything is found before anything is rewritten, because values are not followed through nodes
// that we insert. A slot stays where it is, whatever is put around the node that holds it.
int RewriteAwaitedCalls(mod_ty tree, PyObject* tools, PyArena* arena) {
  asdl_stmt_seq* body = tree->v.Module.body;
  Variables variables;
  Marks marks = {.count = 0};
  int failed = FindVariables(&variables, body, tools, arena) < 0 ||
               FindAwaited(&variables, body, &marks) < 0 || RewriteReturns(body, arena) < 0 ||
               ApplyMarks(&marks, arena) < 0;
  ReleaseMarks(&marks);
  ReleaseVariables(&variables);
  return failed ? -1 : 0;
}

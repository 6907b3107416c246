// What CPython does when a program ends, done while the run still counts: threads are joined, exit
// handlers called, files written out.
//
// Trust     Runs what hostile code left behind (threads, handlers, __del__, flush), under the run's
//           own limits, after its report was made: nothing of it changes how the run ended.
// Threads   With the interpreter's lock held; gives it up while it waits.
// Lifetime  A cell that goes on with another run only has its files written out.
#ifndef CAISSON_GUEST_ENDING_H_
#define CAISSON_GUEST_ENDING_H_

typedef enum AfterRun { kDiscardCell, kKeepCell } AfterRun;

// Costs nothing where code left no thread, no handler and no file it had opened for writing.
void EndProgram(AfterRun after);

// Once, after the interpreter has started, before anything opens a file.
int EndingStart(void);
// Once, when all modules are imported: exit handlers of theirs do not make a run wait.
void EndingKnowHandlers(void);

#endif  // CAISSON_GUEST_ENDING_H_

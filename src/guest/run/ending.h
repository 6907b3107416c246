// Does what CPython does when a program ends, while the run still counts: joins threads, calls exit
// handlers, flushes files.
//
// Trust     Runs what hostile code left behind (threads, handlers, __del__, flush), under the run's
//           own limits, after its report was made. Nothing of it changes how the run ended.
// Threads   With the interpreter lock held; releases it while it waits.
// Lifetime  In a cell that continues with another run, only files are flushed.
#ifndef CAISSON_GUEST_RUN_ENDING_H_
#define CAISSON_GUEST_RUN_ENDING_H_

typedef enum AfterRun { kDiscardCell, kKeepCell } AfterRun;

// Costs nothing if code left no thread, no handler and no file that is open for writing.
void EndProgram(AfterRun after);

// Call once, after the interpreter has started and before anything opens a file.
int EndingStart(void);
// Call once, when all modules are imported: a run does not wait for their exit handlers.
void EndingKnowHandlers(void);

#endif  // CAISSON_GUEST_RUN_ENDING_H_

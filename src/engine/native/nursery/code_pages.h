// Makes forked processes inherit the page tables of the code they will run, so that they need not fault
// it in again, and not of the code they will not: whatever is mapped costs every fork and every exit.
//
// Trust     Changes no code and leaves it as executable and unwritable as it was.
// Threads   One. Before the jail refuses to make code writable.
// Lifetime  Holds for what is loaded now.
#pragma once

namespace caisson::nursery {

// Unmaps the program's code; what runs from now on is mapped again.
void ForgetCodePages();
// Lets forks inherit what is mapped by now. Best effort: without it cells are only slower.
void InheritCodePages();

}  // namespace caisson::nursery

// Makes forked processes inherit the page tables of code, so that they need not fault it in again.
//
// Trust     Changes no code and leaves it as executable and unwritable as it was.
// Threads   One. Before the jail refuses to make code writable.
// Lifetime  Holds for what is loaded now.
#pragma once

namespace caisson::nursery {

// Best effort: without it cells are only slower.
void KeepCodeMappedInForks();

}  // namespace caisson::nursery

// A Runner starts a foreign interpreter for a cell, with the guest logic written in Python (guest/runner).
//
// It is started when the cell's run is there, behind every wall and limit of that run: no line of Python takes part
// in putting up either (ADR 28). What it then reads is our code, compiled by that very interpreter when the nursery
// started and sealed since.
//
// Trust     The interpreter is the operator's. It is hostile once it has read a run.
// Threads   One.
// Lifetime  Made once by a nursery, before it seals itself; its cells have a copy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "engine/native/nursery/interpreter.h"
#include "jail/enclosure.h"

namespace caisson::nursery {

class Runner {
 public:
  // Starts the interpreter once, on nothing but our own code: whatever is missing shows here.
  static Result<Runner> Prepare(const jail::Enclosure& enclosure, const Interpreter& interpreter);

  // What the interpreter takes before it runs any code.
  std::uint64_t address_space_bytes() const { return address_space_bytes_; }

  // In a cell: puts `socket`, and what Become() needs, where they belong, and closes all else.
  Result<void> PlaceDescriptors(int socket, int number) const;
  // Returns only if it failed.
  Error Become() const;

 private:
  Runner(UniqueFd program, UniqueFd code, std::vector<std::string> argv)
      : program_(std::move(program)), code_(std::move(code)), argv_(std::move(argv)) {}

  UniqueFd program_;
  UniqueFd code_;
  std::vector<std::string> argv_;
  std::uint64_t address_space_bytes_ = 0;
};

}  // namespace caisson::nursery

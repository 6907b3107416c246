// A Runner starts a foreign interpreter for a cell, with the guest logic written in Python
// (guest/runner).
//
// The interpreter is started when the cell's run arrives, behind every wall and limit of that run:
// no Python code takes part in setting those up (ADR 28). It then reads our code, which the same
// interpreter compiled when the fork server started and which is sealed since.
//
// Trust     The interpreter is the operator's. It is hostile once it has read a run.
// Threads   One.
// Lifetime  Made once by a fork server, before it seals itself; its cells have a copy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "engine/native/forkserver/interpreter.h"
#include "jail/enclosure.h"

namespace caisson::forkserver {

class Runner {
 public:
  // Starts the interpreter once with only our own code, which detects missing files.
  static Result<Runner> Prepare(const jail::Enclosure& enclosure, const Interpreter& interpreter);

  // Memory that the interpreter uses before it runs any code.
  std::uint64_t address_space_bytes() const { return address_space_bytes_; }

  // In a cell: puts `socket`, the socket of its judge and the descriptors for Become() in their
  // places, and closes all others.
  Result<void> PlaceDescriptors(int socket, int number, int judge) const;
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

}  // namespace caisson::forkserver

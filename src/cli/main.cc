#include "cli/commands.h"

int main(int argc, char** argv) {
  return caisson::cli::RunProgram(argc, argv);
}

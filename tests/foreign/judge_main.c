// foreign_judge LIBRARY SOCKET: the judge of foreign interpreters, for tests.
#include <stdio.h>
#include <stdlib.h>

#include "guest/abi.h"
#include "guest/native/judge.h"

// A judge holds no cell.
int32_t host_wait(int32_t seq, int64_t timeout_ns) {
  (void)seq;
  (void)timeout_ns;
  abort();
}
void host_wake(void) {
  abort();
}
int32_t host_post(const void* message, uint32_t length) {
  (void)message;
  (void)length;
  abort();
}
uint32_t host_take(void* out, uint32_t capacity) {
  (void)out;
  (void)capacity;
  abort();
}
void host_report(const void* message, uint32_t length) {
  (void)message;
  (void)length;
  abort();
}

int main(int argc, char** argv) {
  if (argc != 3 || caisson_judge_boot(argv[1]) != 0) return EXIT_FAILURE;
  caisson_judge(atoi(argv[2]));
  return EXIT_SUCCESS;
}

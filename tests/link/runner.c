/* Runs a model on every call's inputs in a file, one behind the other, and writes the outputs to another. RUNNER_BUFFERS and
   RUNNER_CALL come from the test, which knows the model. */
#include "net.h"
#include "check.h"
#include "runner.h"
#include <string.h>

static unsigned char memory[NET_ARENA_BYTES + NET_ARENA_ALIGN];

int main(int argc, char **argv)
{
  unsigned char *arena = memory + (-(uintptr_t)memory & (NET_ARENA_ALIGN - 1));
  FILE *inputs, *outputs;
  net_forward_inputs in;
  net_forward_outputs out;
  CHECK(argc == 3);
  inputs = fopen(argv[1], "rb");
  outputs = fopen(argv[2], "wb");
  CHECK(inputs && outputs);
  memset(memory, 0xee, sizeof memory);
  EQUAL(net_init(arena, NET_ARENA_BYTES, NULL), MODELC_OK);
  while (runner_read(inputs, &in)) {
    runner_prepare(&out);
    EQUAL(net_forward(arena, &in, &out), MODELC_OK);
    runner_write(outputs);
  }
  EQUAL(fclose(outputs), 0);
  return 0;
}

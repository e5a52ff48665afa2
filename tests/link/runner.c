/* Runs a model on every call's inputs in a file, one behind the other, and writes the outputs to another; a third has the weights
   where they are not in the object. RUNNER_BUFFERS and
   RUNNER_CALL come from the test, which knows the model. */
#include "net.h"
#include "check.h"
#include "runner.h"
#include <string.h>

static unsigned char memory[NET_ARENA_BYTES + NET_ARENA_ALIGN];

/* A call among so many live numbers that they stand in every register that a callee has to keep. */
static int forward(void *arena, const net_forward_inputs *in, net_forward_outputs *out)
{
  static volatile double reals[12] = { 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 10.5, 11.5, 12.5 };
  static volatile long numbers[10] = { 11, 12, 13, 14, 15, 16, 17, 18, 19, 20 };
  double a = reals[0], b = reals[1], c = reals[2], d = reals[3], e = reals[4], f = reals[5];
  double g = reals[6], h = reals[7], i = reals[8], j = reals[9], k = reals[10], l = reals[11];
  long m = numbers[0], n = numbers[1], o = numbers[2], p = numbers[3], q = numbers[4];
  long r = numbers[5], s = numbers[6], t = numbers[7], u = numbers[8], v = numbers[9];
  int status = net_forward(arena, in, out);
  CHECK(a == reals[0] && b == reals[1] && c == reals[2] && d == reals[3] && e == reals[4] && f == reals[5]);
  CHECK(g == reals[6] && h == reals[7] && i == reals[8] && j == reals[9] && k == reals[10] && l == reals[11]);
  CHECK(m == numbers[0] && n == numbers[1] && o == numbers[2] && p == numbers[3] && q == numbers[4]);
  CHECK(r == numbers[5] && s == numbers[6] && t == numbers[7] && u == numbers[8] && v == numbers[9]);
  return status;
}

int main(int argc, char **argv)
{
  unsigned char *arena = memory + (-(uintptr_t)memory & (NET_ARENA_ALIGN - 1));
  FILE *inputs, *outputs;
  net_forward_inputs in;
  net_forward_outputs out;
  inputs = fopen(argv[1], "rb");
  outputs = fopen(argv[2], "wb");
  CHECK(inputs && outputs);
  memset(memory, 0xee, sizeof memory);
#ifdef NET_WEIGHTS_BYTES
  {
    static unsigned char file[NET_WEIGHTS_BYTES + NET_ARENA_ALIGN];
    unsigned char *weights = file + (-(uintptr_t)file & (NET_ARENA_ALIGN - 1));
    modelc_config config;
    FILE *from;
    CHECK(argc == 4);
    from = fopen(argv[3], "rb");
    CHECK(from && fread(weights, 1, NET_WEIGHTS_BYTES, from) == NET_WEIGHTS_BYTES);
    memset(&config, 0, sizeof config);
    config.struct_size = sizeof config;
    config.weights = weights;
    config.weights_bytes = NET_WEIGHTS_BYTES;
    EQUAL(net_init(arena, NET_ARENA_BYTES, &config), MODELC_OK);
  }
#else
  CHECK(argc == 3);
  EQUAL(net_init(arena, NET_ARENA_BYTES, NULL), MODELC_OK);
#endif
  while (runner_read(inputs, &in)) {
    runner_prepare(&out);
    EQUAL(forward(arena, &in, &out), MODELC_OK);
    runner_write(outputs);
  }
  EQUAL(fclose(outputs), 0);
  return 0;
}

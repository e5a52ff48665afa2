/* A model whose weights are a file: every way to hand them over wrongly, then two files of weights for one object. */
#include "net.h"
#include "check.h"
#include <string.h>

#define ROOM (NET_WEIGHTS_BYTES + 2 * NET_ARENA_ALIGN)
static unsigned char memory[NET_ARENA_BYTES + NET_ARENA_ALIGN], files[2][ROOM];

static unsigned char *aligned(unsigned char *bytes)
{
  return bytes + (-(uintptr_t)bytes & (NET_ARENA_ALIGN - 1));
}

static void read_file(const char *name, unsigned char *to)
{
  FILE *file = fopen(name, "rb");
  CHECK(file != NULL);
  CHECK(fread(to, 1, NET_WEIGHTS_BYTES, file) == NET_WEIGHTS_BYTES);
  CHECK(fgetc(file) == EOF);
  fclose(file);
}

static void forward(unsigned char *arena, int added)
{
  int8_t in0[NET_FORWARD_IN0_ELEMENTS] = { 0 }, out0[NET_FORWARD_OUT0_ELEMENTS];
  float in1[3] = { 0, 0, 0 }, out1[3];
  int32_t count = 0;
  net_forward_inputs in;
  net_forward_outputs out;
  int i;
  in.in0 = in0;
  in.in1 = in1;
  out.out0 = out0;
  out.out1 = out1;
  out.out2 = &count;
  EQUAL(net_forward(arena, &in, &out), MODELC_OK);
  for (i = 0; i < (int)NET_FORWARD_OUT0_ELEMENTS; i++) EQUAL(out0[i], (int8_t)(2 * (3 * i + added)));
  EQUAL(count, 6);
  EQUAL(net_reset(arena), MODELC_OK);
}

int main(int argc, char **argv)
{
  unsigned char *arena = aligned(memory), *weights = aligned(files[0]), *other = aligned(files[1]);
  modelc_config config;
  size_t i;
  CHECK(argc == 3);
  read_file(argv[1], weights);
  read_file(argv[2], other);
  EQUAL(net_init(arena, NET_ARENA_BYTES, NULL), MODELC_E_WEIGHTS);
  memset(&config, 0, sizeof config);
  config.struct_size = sizeof config;
  EQUAL(net_init(arena, NET_ARENA_BYTES, &config), MODELC_E_WEIGHTS);
  config.weights = weights;
  EQUAL(net_init(arena, NET_ARENA_BYTES, &config), MODELC_E_WEIGHTS);
  config.weights_bytes = NET_WEIGHTS_BYTES - 1;
  EQUAL(net_init(arena, NET_ARENA_BYTES, &config), MODELC_E_WEIGHTS);
  config.weights_bytes = NET_WEIGHTS_BYTES;
  config.weights = weights + 1;
  EQUAL(net_init(arena, NET_ARENA_BYTES, &config), MODELC_E_ALIGN);
  config.weights = weights;
  /* Each byte of the header that means something. */
  for (i = 0; i < 48; i++) {
    weights[i] ^= 1;
    EQUAL(net_init(arena, NET_ARENA_BYTES, &config), MODELC_E_WEIGHTS);
    weights[i] ^= 1;
  }
  EQUAL(net_init(arena, NET_ARENA_BYTES, &config), MODELC_OK);
  forward(arena, 0);
  config.weights = other;
  EQUAL(net_init(arena, NET_ARENA_BYTES, &config), MODELC_OK);
  forward(arena, 3);
  return 0;
}

/* A model whose batch and sequence are as large as the caller says, up to a bound. */
#include "net.h"
#include "check.h"
#include <string.h>

static unsigned char memory[NET_ARENA_BYTES + NET_ARENA_ALIGN];
static float x[5 * 40 * 6], y[NET_FORWARD_OUT0_MAX_BYTES / 4], last[NET_FORWARD_OUT1_MAX_BYTES / 4], others[NET_FORWARD_OUT2_MAX_BYTES / 4],
    sum[NET_FORWARD_OUT3_MAX_BYTES / 4], both[NET_FORWARD_OUT4_MAX_BYTES / 4], scores[NET_FORWARD_OUT5_MAX_BYTES / 4],
    joined[NET_FORWARD_OUT6_MAX_BYTES / 4];

static int near(float a, float b)
{
  float difference = a - b;
  return difference < 1e-5f && difference > -1e-5f;
}

/* Every element of a sequence is the same, so each attends to all of them alike and stays what it is. */
static float element(size_t batch, size_t channel)
{
  return (float)batch * 0.25f - (float)channel * 0.5f;
}

/* The call gets as much scratch memory as it says that it takes; nothing after that is touched. */
static int call(unsigned char *arena, size_t batch, size_t length, size_t channels, net_forward_outputs *out)
{
  net_forward_inputs in;
  unsigned char *scratch = arena + NET_STATE_BYTES;
  size_t i, needed, sequence = length * channels;
  int status;
  memset(&in, 0, sizeof in);
  in.in0 = x;
  in.in0_shape[0] = batch;
  in.in0_shape[1] = length;
  in.in0_shape[2] = channels;
  for (i = 0; i < batch * sequence && i < sizeof x / sizeof x[0]; i++) x[i] = element(i / sequence, i % channels);
  needed = net_forward_scratch(&in);
  CHECK(needed > 0 && needed % NET_ARENA_ALIGN == 0 && needed <= NET_SCRATCH_BYTES);
  memset(scratch, 0x5a, NET_SCRATCH_BYTES);
  status = net_forward_split(arena, scratch, &in, out);
  for (i = needed; i < NET_SCRATCH_BYTES; i++) CHECK(scratch[i] == 0x5a);
  return status;
}

int main(void)
{
  static const size_t wrong[6][3] = { { 0, 3, 6 }, { 6, 3, 6 }, { 2, 0, 6 }, { 2, 41, 6 }, { 2, 3, 5 }, { (size_t)-1, 3, 6 } };
  static const size_t right[4][2] = { { 1, 1 }, { 5, 40 }, { 2, 3 }, { 4, 17 } };
  unsigned char *arena = memory + (-(uintptr_t)memory & (NET_ARENA_ALIGN - 1));
  net_forward_outputs out, before;
  size_t i, j;
  EQUAL(net_init(arena, NET_ARENA_BYTES, NULL), MODELC_OK);
  EQUAL(net_forward_scratch(NULL), NET_SCRATCH_BYTES);
  memset(&out, 0x5a, sizeof out);
  out.out0 = y;
  out.out1 = last;
  out.out2 = others;
  out.out3 = sum;
  out.out4 = both;
  out.out5 = scores;
  out.out6 = joined;
  before = out;
  for (i = 0; i < 6; i++) {
    y[0] = 77.0f;
    EQUAL(call(arena, wrong[i][0], wrong[i][1], wrong[i][2], &out), MODELC_E_SHAPE);
    CHECK(y[0] == 77.0f && memcmp(&out, &before, sizeof out) == 0);
  }
  for (i = 0; i < 4; i++) {
    size_t batch = right[i][0], length = right[i][1];
    EQUAL(call(arena, batch, length, 6, &out), MODELC_OK);
    CHECK(out.out0_shape[0] == batch && out.out0_shape[1] == length && out.out0_shape[2] == 6);
    CHECK(out.out1_shape[0] == batch && out.out1_shape[1] == 1 && out.out1_shape[2] == 9);
    CHECK(out.out2_shape[0] == batch && out.out2_shape[1] == length - 1 && out.out2_shape[2] == 6);
    CHECK(out.out5_shape[0] == batch && out.out5_shape[1] == 2 && out.out5_shape[2] == length && out.out5_shape[3] == length);
    CHECK(out.out6_shape[0] == batch && out.out6_shape[1] == 2 * length && out.out6_shape[2] == 6);
    for (j = 0; j < batch * length * 6; j++) CHECK(near(y[j], x[j]));
    for (j = 0; j < batch * length * 12; j++) CHECK(near(joined[j], element(j / (length * 12), j % 6)));
    for (j = 0; j < batch * 9; j++) CHECK(near(last[j], j % 9 < 1 || j % 9 > 6 ? 7.0f : element(j / 9, j % 9 - 1)));
    for (j = 0; j < batch * 6; j++) CHECK(near(sum[j] / (float)length, element(j / 6, j % 6)));
    for (j = 0; j < batch * length * 12; j++) CHECK(near(both[j], x[j / 12 * 6 + j % 6]));
  }
  return 0;
}

/* A game's model, whose drawing of a move is here: the likeliest one, so that the moves are known. They are those of TensorFlow Lite's
   reference kernels, run up to the draw. */
#include "net.h"
#include "check.h"

static unsigned char memory[NET_ARENA_BYTES + NET_ARENA_ALIGN];

int app_multinomial(void *user, const modelc_tensor *in, uint32_t n_in, modelc_tensor *out, uint32_t n_out, const void *options,
                    size_t options_bytes)
{
  const float *logits = (const float *)in[0].data;
  int32_t best = 0, move;
  (void)user; (void)options; (void)options_bytes;
  CHECK(n_in == 2 && n_out == 1);
  CHECK(in[0].type == MODELC_F32 && in[0].rank == 2 && in[0].shape[0] == 1 && in[0].shape[1] == 64);
  CHECK(in[1].type == MODELC_I32 && in[1].rank == 0 && *(const int32_t *)in[1].data == 1);
  CHECK(out[0].type == MODELC_I32 && out[0].rank == 2 && out[0].bytes == 4);
  for (move = 1; move < 64; move++) {
    if (logits[move] > logits[best]) best = move;
  }
  *(int32_t *)out[0].data = best;
  return 0;
}

int main(void)
{
  static const int32_t moves[8] = { 36, 20, 18, 27, 36, 34, 54, 36 };
  unsigned char *arena = memory + (-(uintptr_t)memory & (NET_ARENA_ALIGN - 1));
  const int32_t step_type = 0;
  const float discount = 0, reward = 0;
  float board[64];
  int32_t move, game, i;
  net_forward_inputs in;
  net_forward_outputs out;
  in.in0 = &step_type; in.in1 = &discount; in.in2 = board; in.in3 = &reward;
  out.out0 = &move;
  EQUAL(net_init(arena, NET_ARENA_BYTES, NULL), MODELC_OK);
  for (game = 0; game < 8; game++) {
    for (i = 0; i < 64; i++) board[i] = (float)((i * i * (game + 1) + 3 * i) % 7 % 3 - 1);
    EQUAL(net_forward(arena, &in, &out), MODELC_OK);
    EQUAL(move, moves[game]);
  }
  return 0;
}

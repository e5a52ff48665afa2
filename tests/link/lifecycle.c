/* The whole life of one model: every check of every entry, in the order of the header's promises. */
#include "net.h"
#include "check.h"
#include <string.h>

static unsigned char memory[NET_ARENA_BYTES + 2 * NET_ARENA_ALIGN], copy[NET_STATE_BYTES];
/* Arguments at odd addresses, as natural alignment of bytes allows. */
static unsigned char in_bytes[NET_FORWARD_IN0_BYTES + 1], out_bytes[NET_FORWARD_OUT0_BYTES + 2];
static float in_floats[4], out_floats[4];
static int32_t count[1];

static unsigned char *arena(void)
{
  return memory + (-(uintptr_t)memory & (NET_ARENA_ALIGN - 1));
}

static int forward(void *state, void *scratch)
{
  net_forward_inputs in;
  net_forward_outputs out;
  in.in0 = (const int8_t *)in_bytes + 1;
  in.in1 = in_floats;
  out.out0 = (int8_t *)out_bytes + 1;
  out.out1 = out_floats;
  out.out2 = count;
  memset(out_bytes, 0x55, sizeof out_bytes);
  return scratch ? net_forward_split(state, scratch, &in, &out) : net_forward(state, &in, &out);
}

static void check_results(int calls)
{
  int i;
  for (i = 0; i < NET_FORWARD_OUT0_ELEMENTS; i++)
    EQUAL((int8_t)out_bytes[1 + i], (int8_t)(2 * (i - 20 + 3 * i)));
  EQUAL(out_bytes[0], 0x55);
  EQUAL(out_bytes[sizeof out_bytes - 1], 0x55);
  for (i = 0; i < 3; i++)
    CHECK(out_floats[i] == 2.0f * in_floats[i]);
  EQUAL(count[0], 5 + calls);
}

static void init_checks(void)
{
  modelc_config config;
  struct { modelc_config config; unsigned char more[8]; } longer;
  memset(&config, 0, sizeof config);
  EQUAL(net_init(NULL, NET_ARENA_BYTES, NULL), MODELC_E_NULL);
  EQUAL(net_init(arena() + 1, NET_ARENA_BYTES, NULL), MODELC_E_ALIGN);
  EQUAL(net_init(arena() + NET_ARENA_ALIGN / 2, NET_ARENA_BYTES, NULL), MODELC_E_ALIGN);
  EQUAL(net_init(arena(), NET_STATE_BYTES - 1, NULL), MODELC_E_ARENA);
  EQUAL(net_init(arena(), 0, NULL), MODELC_E_ARENA);
  EQUAL(net_init(arena(), NET_ARENA_BYTES, &config), MODELC_E_ABI);
  config.struct_size = sizeof config - 1;
  EQUAL(net_init(arena(), NET_ARENA_BYTES, &config), MODELC_E_ABI);
  config.struct_size = 0xffffffffu;
  EQUAL(net_init(arena(), NET_ARENA_BYTES, &config), MODELC_E_ABI);
  config.struct_size = sizeof config;
  config.flags = 1;
  EQUAL(net_init(arena(), NET_ARENA_BYTES, &config), MODELC_E_ABI);
  config.flags = 0;
#ifdef LACKING_FEATURES
  config.cpu_features = LACKING_FEATURES;
  EQUAL(net_init(arena(), NET_ARENA_BYTES, &config), MODELC_E_CPU);
  config.cpu_features = ~(uint64_t)0;
#endif
  EQUAL(net_init(arena(), NET_ARENA_BYTES, &config), MODELC_OK);
  memset(&longer, 0, sizeof longer);
  longer.config.struct_size = sizeof longer;
  EQUAL(net_init(arena(), NET_ARENA_BYTES, &longer.config), MODELC_OK);
  longer.more[7] = 1;
  EQUAL(net_init(arena(), NET_ARENA_BYTES, &longer.config), MODELC_E_ABI);
}

static void pointer_checks(void)
{
  net_forward_inputs in;
  net_forward_outputs out;
  in.in0 = (const int8_t *)in_bytes;
  in.in1 = in_floats;
  out.out0 = (int8_t *)out_bytes;
  out.out1 = out_floats;
  out.out2 = count;
  EQUAL(net_forward(NULL, &in, &out), MODELC_E_NULL);
  EQUAL(net_forward(arena() + 1, &in, &out), MODELC_E_ALIGN);
  EQUAL(net_forward(arena(), NULL, &out), MODELC_E_NULL);
  EQUAL(net_forward(arena(), &in, NULL), MODELC_E_NULL);
  in.in0 = NULL;
  EQUAL(net_forward(arena(), &in, &out), MODELC_E_NULL);
  in.in0 = (const int8_t *)in_bytes;
  out.out2 = NULL;
  EQUAL(net_forward(arena(), &in, &out), MODELC_E_NULL);
  out.out2 = (int32_t *)(void *)(out_bytes + (1 - (uintptr_t)out_bytes % 2));
  EQUAL(net_forward(arena(), &in, &out), MODELC_E_ALIGN);
  EQUAL(net_forward_split(arena(), NULL, &in, &out), MODELC_E_NULL);
  EQUAL(net_forward_split(arena(), arena() + NET_STATE_BYTES + NET_ARENA_ALIGN / 2, &in, &out), MODELC_E_ALIGN);
}

static void other_methods(void)
{
  net_count_to_inputs to;
  net_count_to_outputs counted;
  net_choose_inputs choose;
  net_choose_outputs chosen;
  net_check_inputs check;
  net_check_outputs checked;
  net_tick_outputs ticked;
  int32_t number = 0, answer = 0, ticks = 0;
  int8_t bytes[2] = { 3, 4 };
  uint8_t truth = 1;
  to.in0 = 7;
  counted.out0 = 0;
  EQUAL(net_count_to(arena(), &to, &counted), MODELC_OK);
  EQUAL(counted.out0, 7);
  to.in0 = 0;
  EQUAL(net_count_to(arena(), &to, &counted), MODELC_OK);
  EQUAL(counted.out0, 1);
  choose.in0 = &truth;
  choose.in1 = &number;
  number = 40;
  chosen.out0 = &answer;
  EQUAL(net_choose(arena(), &choose, &chosen), MODELC_OK);
  EQUAL(answer, 41);
  truth = 0;
  EQUAL(net_choose(arena(), &choose, &chosen), MODELC_OK);
  EQUAL(answer, 80);
  check.in0 = bytes;
  checked.out0 = bytes;
  checked.out0 = (int8_t *)out_bytes;
  EQUAL(net_check(arena(), &check, &checked), MODELC_OK);
  bytes[1] = -1;
  EQUAL(net_check(arena(), &check, &checked), MODELC_E_INDEX);
  ticked.out0 = &ticks;
  EQUAL(net_tick(arena(), NULL, &ticked), MODELC_OK);
  EQUAL(ticks, 5 + 1);
}

static void quantization(void)
{
  EQUAL(net_forward_in0_quantize(0.25f), -2); /* 0.5, away from zero to 1, plus the zero point */
  EQUAL(net_forward_in0_quantize(-0.25f), -4);
  EQUAL(net_forward_in0_quantize(0.2f), -3);
  EQUAL(net_forward_in0_quantize(1e30f), 127);
  EQUAL(net_forward_in0_quantize(-1e30f), -128);
  EQUAL(net_forward_in0_quantize(62.4f), 122);
  CHECK(net_forward_in0_dequantize(-128) == -62.5f);
  CHECK(strcmp(NET_FORWARD_IN0_NAME, "in \"0\" ?\?/ */ \303\251") == 0);
}

int main(void)
{
  int i;
  for (i = 0; i < NET_FORWARD_IN0_ELEMENTS; i++)
    in_bytes[1 + i] = (unsigned char)(i - 20);
  for (i = 0; i < 3; i++)
    in_floats[i] = 0.5f * (float)i - 1.0f;
  EQUAL(forward(arena(), NULL), MODELC_E_STATE);
  EQUAL(net_reset(arena()), MODELC_E_STATE);
  net_deinit(NULL);
  net_deinit(arena());
  init_checks();
  EQUAL(net_init(arena(), NET_ARENA_BYTES, NULL), MODELC_OK);
  pointer_checks();
  EQUAL(forward(arena(), NULL), MODELC_OK);
  check_results(1);
  EQUAL(forward(arena(), NULL), MODELC_OK);
  check_results(2);

  memcpy(copy, arena(), sizeof copy); /* a snapshot */
  EQUAL(forward(arena(), NULL), MODELC_OK);
  check_results(3);
  memcpy(arena(), copy, sizeof copy);
  EQUAL(forward(arena(), NULL), MODELC_OK);
  check_results(3);
  EQUAL(net_reset(arena()), MODELC_OK);
  EQUAL(forward(arena(), NULL), MODELC_OK);
  check_results(1);

  EQUAL(net_init(arena(), NET_STATE_BYTES, NULL), MODELC_OK); /* state only */
  EQUAL(forward(arena(), NULL), MODELC_E_ARENA);
  EQUAL(forward(arena(), arena() + NET_STATE_BYTES), MODELC_OK);
  check_results(1);

  EQUAL(net_init(arena(), NET_ARENA_BYTES, NULL), MODELC_OK);
  other_methods();
  quantization();
  net_deinit(arena());
  EQUAL(forward(arena(), NULL), MODELC_E_STATE);
  EQUAL(net_init(arena(), NET_ARENA_BYTES, NULL), MODELC_OK);
  arena()[8] ^= 1; /* another model's state */
  EQUAL(forward(arena(), NULL), MODELC_E_STATE);
  CHECK(strcmp(modelc_strerror(MODELC_E_STATE), modelc_strerror(1)) != 0);
  return 0;
}

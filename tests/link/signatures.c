/* Three methods of one model, which keep numbers from call to call. */
#include "net.h"
#include "check.h"

static long long memory[(NET_ARENA_BYTES + NET_ARENA_ALIGN) / 8];

int main(void)
{
  unsigned char *arena = (unsigned char *)memory + (-(uintptr_t)memory & (NET_ARENA_ALIGN - 1));
  const float numbers[4] = { 1.0f, 2.0f, 3.0f, -4.0f };
  float answer[4];
  net_push_back_inputs pushed = { numbers };
  net_push_back_outputs doubled = { answer };
  net_peek_inputs factors = { numbers };
  net_peek_outputs products = { answer };
  net_init2_inputs others = { numbers };
  net_init2_outputs same = { answer };
  EQUAL(net_peek(arena, &factors, &products), MODELC_E_STATE);
  EQUAL(net_init(arena, NET_ARENA_BYTES, NULL), MODELC_OK);
  EQUAL(net_peek(arena, &factors, &products), MODELC_OK);
  CHECK(answer[0] == 0.0f && answer[3] == 0.0f);
  EQUAL(net_push_back(arena, &pushed, &doubled), MODELC_OK);
  CHECK(answer[0] == 2.0f && answer[3] == -8.0f);
  EQUAL(net_peek(arena, &factors, &products), MODELC_OK);
  CHECK(answer[0] == 2.0f && answer[1] == 8.0f && answer[2] == 18.0f && answer[3] == 32.0f);
  answer[0] = answer[3] = 0.0f;
  EQUAL(net_init2(arena, &others, &same), MODELC_OK);
  CHECK(answer[0] == 2.0f && answer[1] == 8.0f && answer[2] == 18.0f && answer[3] == 32.0f);
  EQUAL(net_reset(arena), MODELC_OK);
  EQUAL(net_peek(arena, &factors, &products), MODELC_OK);
  CHECK(answer[0] == 0.0f && answer[3] == 0.0f);
  return 0;
}

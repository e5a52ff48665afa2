/* Two instances on two threads, sharing one scratch memory in turn; and the stack that a call takes, measured. */
#define _GNU_SOURCE
#include "net.h"
#include "check.h"
#include <pthread.h>
#include <string.h>
#include <ucontext.h>

#define ALIGNED __attribute__((aligned(NET_ARENA_ALIGN)))
enum { ROUNDS = 2000, STACK = 1 << 18 };
static unsigned char states[2][NET_STATE_BYTES] ALIGNED;
static unsigned char scratch[NET_SCRATCH_BYTES] ALIGNED;
static unsigned char arena[NET_ARENA_BYTES] ALIGNED;
static unsigned char stack[STACK] __attribute__((aligned(4096)));
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static int forward(void *state, void *memory, int start, int32_t *count)
{
  int8_t bytes[NET_FORWARD_IN0_BYTES], result[NET_FORWARD_OUT0_BYTES];
  float floats[3] = { 1, 2, 3 }, doubled[3];
  net_forward_inputs in;
  net_forward_outputs out;
  int i, status;
  for (i = 0; i < NET_FORWARD_IN0_BYTES; i++)
    bytes[i] = (int8_t)(i + start);
  in.in0 = bytes;
  in.in1 = floats;
  out.out0 = result;
  out.out1 = doubled;
  out.out2 = count;
  status = memory ? net_forward_split(state, memory, &in, &out) : net_forward(state, &in, &out);
  for (i = 0; i < NET_FORWARD_OUT0_BYTES; i++)
    EQUAL(result[i], (int8_t)(2 * (i + start + 3 * i)));
  return status;
}

static void *instance(void *argument)
{
  int number = *(int *)argument, i;
  int32_t count;
  EQUAL(net_init(states[number], NET_STATE_BYTES, NULL), MODELC_OK);
  for (i = 0; i < ROUNDS; i++) {
    pthread_mutex_lock(&turn);
    EQUAL(forward(states[number], scratch, 11 * number + i % 50, &count), MODELC_OK);
    pthread_mutex_unlock(&turn);
    EQUAL(count, 5 + i + 1);
  }
  return NULL;
}

/* A call on a painted stack of its own, with nothing around it, shows what it takes. */
static net_forward_inputs the_inputs;
static net_forward_outputs the_outputs;
static volatile int the_status;
static ucontext_t here, there;
static void nothing(void) { the_status = 0; }
static void one_call(void) { the_status = net_forward(arena, &the_inputs, &the_outputs); }
static void one_init(void) { the_status = net_init(arena, NET_ARENA_BYTES, NULL); }

static size_t stack_used(void (*work)(void))
{
  size_t untouched = 0;
  memset(stack, 0xa7, sizeof stack);
  EQUAL(getcontext(&there), 0);
  there.uc_stack.ss_sp = stack;
  there.uc_stack.ss_size = sizeof stack;
  there.uc_link = &here;
  makecontext(&there, work, 0);
  EQUAL(swapcontext(&here, &there), 0);
  EQUAL(the_status, MODELC_OK);
  while (stack[untouched] == 0xa7)
    untouched++;
  return sizeof stack - untouched;
}

int main(void)
{
  static int8_t bytes[NET_FORWARD_IN0_BYTES], result[NET_FORWARD_OUT0_BYTES];
  static float floats[4];
  static int32_t count;
  pthread_t threads[2];
  int numbers[2] = { 0, 1 };
  size_t base, used;
  EQUAL(pthread_create(&threads[0], NULL, instance, &numbers[0]), 0);
  EQUAL(pthread_create(&threads[1], NULL, instance, &numbers[1]), 0);
  EQUAL(pthread_join(threads[0], NULL), 0);
  EQUAL(pthread_join(threads[1], NULL), 0);

  the_inputs.in0 = bytes;
  the_inputs.in1 = floats;
  the_outputs.out0 = result;
  the_outputs.out1 = floats;
  the_outputs.out2 = &count;
  base = stack_used(nothing);
  CHECK(stack_used(one_init) <= base + NET_STACK_BYTES);
  used = stack_used(one_call);
  /* A bound, and no wild one: what a frame reserves it need not touch. */
  CHECK(used <= base + NET_STACK_BYTES);
  CHECK(used + 64 >= base + NET_STACK_BYTES);
  return 0;
}

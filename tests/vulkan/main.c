/* Runs a model part of which is for a GPU, and tells which side ran it: the status of init, whether the GPU runs, the call that failed and its
   result, the device; then the outputs. */
#include "net.h"
#include <stdio.h>
#include <string.h>

#ifdef WITHOUT_LIBRARY
void *dlopen(const char *name, int flags);
void *dlsym(void *library, const char *name);
void *dlopen(const char *name, int flags)
{
  (void)name, (void)flags;
  return NULL;
}
void *dlsym(void *library, const char *name)
{
  (void)library, (void)name;
  return NULL;
}
#endif

static union {
  unsigned char bytes[NET_ARENA_BYTES + NET_ARENA_ALIGN];
  uint64_t aligned;
} memory;

int main(void)
{
  unsigned char *arena = memory.bytes + (NET_ARENA_ALIGN - (uintptr_t)memory.bytes % NET_ARENA_ALIGN) % NET_ARENA_ALIGN;
  modelc_gpu_info info = { 0 };
  float in[NET_FORWARD_IN0_ELEMENTS], out[NET_FORWARD_OUT0_ELEMENTS];
  net_forward_inputs inputs = { in };
  net_forward_outputs outputs = { out };
  info.struct_size = sizeof info;
  if (net_gpu(arena, &info) != MODELC_E_STATE)
    return 1;
  memset(arena, 0xa5, NET_ARENA_BYTES);
  int status = net_init(arena, NET_ARENA_BYTES, NULL);
  if (net_gpu(arena, NULL) != MODELC_E_NULL || net_gpu(arena, &info) != MODELC_OK)
    return 2;
  printf("%d %u %s %d [%s]\n", status, (unsigned)info.runs, info.failed ? info.failed : "-", (int)info.result, info.device_name);
  if (status != MODELC_OK)
    return net_forward(arena, &inputs, &outputs) == MODELC_E_STATE ? 0 : 3;
  info.struct_size = 8;
  if (net_gpu(arena, &info) != MODELC_E_ABI)
    return 4;
  for (int i = 0; i < NET_FORWARD_IN0_ELEMENTS; i++)
    in[i] = (float)i * 0.5f - 2.0f;
  for (int call = 0; call < 2; call++)
    if (net_forward(arena, &inputs, &outputs) != MODELC_OK)
      return 5;
  for (int i = 0; i < NET_FORWARD_OUT0_ELEMENTS; i++)
    printf("%.9g\n", (double)out[i]);
  net_deinit(arena);
  net_deinit(arena);
  return net_forward(arena, &inputs, &outputs) == MODELC_E_STATE ? 0 : 6;
}

/* Makes a Vulkan device, gives it to a model, and uses it on: prints the status of init, whether the GPU runs, how often the queue was locked and
   unlocked; then the outputs. The declarations are Vulkan's as far as this program needs them, under names of its own. */
#include "net.h"
#include <stdio.h>
#include <string.h>

void *dlopen(const char *name, int flags);
void *dlsym(void *library, const char *name);

enum { NOW = 2, COMPUTES = 2, MOST = 8 };
typedef void (*function)(void);
typedef function (*finder)(void *instance, const char *name);
struct application {
  int kind;
  const void *next;
  const char *name;
  uint32_t version;
  const char *engine;
  uint32_t engine_version, api_version;
};
struct instance {
  int kind;
  const void *next;
  uint32_t flags;
  const struct application *application;
  uint32_t layers;
  const char *const *layer_names;
  uint32_t extensions;
  const char *const *extension_names;
};
struct queues {
  int kind;
  const void *next;
  uint32_t flags, family, count;
  const float *priorities;
};
struct device {
  int kind;
  const void *next;
  uint32_t flags, queues;
  const struct queues *queue;
  uint32_t layers;
  const char *const *layer_names;
  uint32_t extensions;
  const char *const *extension_names;
  const void *features;
};
struct family {
  uint32_t flags, queues, timestamp_bits, granularity[3];
};

static union {
  unsigned char bytes[NET_ARENA_BYTES + NET_ARENA_ALIGN];
  uint64_t aligned;
} memory;

struct calls {
  int is_locked, locked, unlocked, wrong;
};

static void lock(void *user)
{
  struct calls *calls = user;
  calls->wrong |= calls->is_locked;
  calls->is_locked = 1;
  calls->locked++;
}

static void unlock(void *user)
{
  struct calls *calls = user;
  calls->wrong |= !calls->is_locked;
  calls->is_locked = 0;
  calls->unlocked++;
}

int main(void)
{
  union {
    void *object;
    finder call;
  } find;
  void *library = dlopen("libvulkan.so.1", NOW), *instance, *physical, *device, *queue;
  if (!library)
    return 1;
  find.object = dlsym(library, "vkGetInstanceProcAddr");
  struct application application = { 0, 0, 0, 0, 0, 0, 1u << 22 | 1u << 12 };
  struct instance wanted_instance = { 1, 0, 0, &application, 0, 0, 0, 0 };
  if (((int (*)(const void *, const void *, void **))find.call(0, "vkCreateInstance"))(&wanted_instance, 0, &instance))
    return 2;
  uint32_t count = 1, families = MOST, family = 0;
  if (((int (*)(void *, uint32_t *, void **))find.call(instance, "vkEnumeratePhysicalDevices"))(instance, &count, &physical) || count < 1)
    return 3;
  struct family properties[MOST];
  ((void (*)(void *, uint32_t *, struct family *))find.call(instance, "vkGetPhysicalDeviceQueueFamilyProperties"))(physical, &families, properties);
  while (family < families && !(properties[family].flags & COMPUTES))
    family++;
  const float priority = 1;
  struct queues queues = { 2, 0, 0, family, 1, &priority };
  struct device wanted_device = { 3, 0, 0, 1, &queues, 0, 0, 0, 0, 0 };
  if (((int (*)(void *, const void *, const void *, void **))find.call(instance, "vkCreateDevice"))(physical, &wanted_device, 0, &device))
    return 4;
  ((void (*)(void *, uint32_t, uint32_t, void **))find.call(instance, "vkGetDeviceQueue"))(device, family, 0, &queue);

  struct calls calls = { 0, 0, 0, 0 };
  struct modelc_vk_host host = { 0 };
  host.struct_size = sizeof host;
  host.queue_family = family;
  host.get_instance_proc_addr = find.object;
  host.instance = instance;
  host.physical_device = physical;
  host.device = device;
  host.queue = queue;
  host.lock = lock;
  host.unlock = unlock;
  host.user = &calls;
  modelc_config config;
  memset(&config, 0, sizeof config);
  config.struct_size = sizeof config;
  config.vk = &host;

  unsigned char *arena = memory.bytes + (NET_ARENA_ALIGN - (uintptr_t)memory.bytes % NET_ARENA_ALIGN) % NET_ARENA_ALIGN;
  modelc_gpu_info info = { 0 };
  info.struct_size = sizeof info;
  int status = net_init(arena, NET_ARENA_BYTES, &config);
  if (net_gpu(arena, &info))
    return 5;
  float in[NET_FORWARD_IN0_ELEMENTS], out[NET_FORWARD_OUT0_ELEMENTS];
  net_forward_inputs inputs = { in };
  net_forward_outputs outputs = { out };
  for (int i = 0; i < NET_FORWARD_IN0_ELEMENTS; i++)
    in[i] = (float)i * 0.5f - 2.0f;
  for (int call = 0; call < 2; call++)
    if (net_forward(arena, &inputs, &outputs))
      return 6;
  net_deinit(arena);
  if (calls.wrong || calls.is_locked)
    return 7;
  printf("%d %u %d %d [%s]\n", status, (unsigned)info.runs, calls.locked, calls.unlocked, info.device_name);
  for (int i = 0; i < NET_FORWARD_OUT0_ELEMENTS; i++)
    printf("%.9g\n", (double)out[i]);
  /* The device is the application's still. */
  if (((int (*)(void *))find.call(instance, "vkDeviceWaitIdle"))(device))
    return 8;
  ((void (*)(void *, const void *))find.call(instance, "vkDestroyDevice"))(device, 0);
  ((void (*)(void *, const void *))find.call(instance, "vkDestroyInstance"))(instance, 0);
  return 0;
}

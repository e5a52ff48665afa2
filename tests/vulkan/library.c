/* Stands for Vulkan's library: what it is asked for, the program that loads it answers. */
typedef void *(*finder)(void *instance, const char *name);

void answer_with(finder found);
#ifndef WITHOUT_ENTRY
void *vkGetInstanceProcAddr(void *instance, const char *name);
#endif

static finder find;

void answer_with(finder found)
{
  find = found;
}

#ifndef WITHOUT_ENTRY
void *vkGetInstanceProcAddr(void *instance, const char *name)
{
  return find ? find(instance, name) : (void *)0;
}
#endif

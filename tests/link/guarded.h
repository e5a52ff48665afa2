/* Memory for a model's buffers. On Linux a page follows it that nothing may touch, so that an access behind its end stops the program. */
#ifdef __linux__
#include <sys/mman.h>
#include <unistd.h>

static void *guarded(size_t bytes, size_t alignment)
{
  size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (bytes + alignment - 1) / alignment * alignment;
  size_t before = (whole + page - 1) / page * page;
  unsigned char *memory = mmap(NULL, before + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED);
  EQUAL(mprotect(memory + before, page, PROT_NONE), 0);
  return memory + before - whole;
}
#else
static void *guarded(size_t bytes, size_t alignment)
{
  unsigned char *memory = malloc(bytes + alignment);
  CHECK(memory != NULL);
  return memory + (-(uintptr_t)memory & (alignment - 1));
}
#endif

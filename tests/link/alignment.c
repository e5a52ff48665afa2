/* A plugin of qemu-user that ends a program if checked code accesses memory at an address that the bytes of the access do not divide. Longer accesses than
   four bytes are of two words. The arguments `from` and `to` are the limits of the checked code.

   qemu's header is in no package of Debian, so what is used of it is declared here. PLUGIN_VERSION is the version of its interface. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef uint64_t plugin_id;
typedef struct qemu_plugin_tb block;
typedef struct qemu_plugin_insn instruction;
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*translated)(plugin_id id, block *b));
void qemu_plugin_register_vcpu_mem_cb(instruction *i, void (*accessed)(unsigned cpu, uint32_t info, uint64_t address, void *data), int flags, int kinds,
                                      void *data);
size_t qemu_plugin_tb_n_insns(const block *b);
instruction *qemu_plugin_tb_get_insn(const block *b, size_t number);
uint64_t qemu_plugin_insn_vaddr(const instruction *i);
unsigned qemu_plugin_mem_size_shift(uint32_t info);

#define EXPORTED __attribute__((visibility("default")))
EXPORTED int qemu_plugin_version = PLUGIN_VERSION;

enum { NO_REGISTERS = 0, READS_AND_WRITES = 3 };
static uint64_t from, to;

static void accessed(unsigned cpu, uint32_t info, uint64_t address, void *data)
{
  unsigned bytes = 1u << qemu_plugin_mem_size_shift(info);
  (void)cpu;
  if (address % (bytes < 4 ? bytes : 4) == 0) return;
  fprintf(stderr, "unaligned access of %u bytes at %#llx by the instruction at %#zx\n", bytes, (unsigned long long)address, (size_t)data);
  fflush(stderr);
  _exit(1);
}

static void translated(plugin_id id, block *b)
{
  size_t count = qemu_plugin_tb_n_insns(b);
  (void)id;
  for (size_t i = 0; i < count; i++) {
    instruction *at = qemu_plugin_tb_get_insn(b, i);
    uint64_t place = qemu_plugin_insn_vaddr(at);
    if (place >= from && place < to) qemu_plugin_register_vcpu_mem_cb(at, accessed, NO_REGISTERS, READS_AND_WRITES, (void *)(size_t)place);
  }
}

EXPORTED int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
  (void)info;
  for (int i = 0; i < argc; i++) {
    if (strncmp(argv[i], "from=", 5) == 0) from = strtoull(argv[i] + 5, NULL, 0);
    if (strncmp(argv[i], "to=", 3) == 0) to = strtoull(argv[i] + 3, NULL, 0);
  }
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  return 0;
}

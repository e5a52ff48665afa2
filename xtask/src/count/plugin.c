/* A plugin of qemu-user that counts the A64 instructions that a program executes between two marks, by class; with THUMB those of Thumb-2, and with
   RISCV those of RISC-V. A mark is `hint #50` or `addi x0, x0, 50`, which do nothing. At the second one the counts are a line on standard error, in the order of the classes below.

   qemu's header is in no package of Debian, so what is used of it is declared here. PLUGIN_VERSION is the version of its interface. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t plugin_id;
typedef struct qemu_plugin_tb block;
typedef struct qemu_plugin_insn instruction;
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*translated)(plugin_id id, block *b));
void qemu_plugin_register_vcpu_tb_exec_cb(block *b, void (*executed)(unsigned cpu, void *data), int flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(instruction *i, void (*executed)(unsigned cpu, void *data), int flags, void *data);
size_t qemu_plugin_tb_n_insns(const block *b);
instruction *qemu_plugin_tb_get_insn(const block *b, size_t number);
size_t qemu_plugin_insn_size(const instruction *i);
#if PLUGIN_VERSION >= 4
size_t qemu_plugin_insn_data(const instruction *i, void *to, size_t bytes);
#else
const void *qemu_plugin_insn_data(const instruction *i);
#endif

#define EXPORTED __attribute__((visibility("default")))
EXPORTED int qemu_plugin_version = PLUGIN_VERSION;

/* No register is read or written. */
enum { NO_REGISTERS = 0 };
#if defined THUMB
#define MARK 0xf3af8032u
#elif defined RISCV
#define MARK 0x03200013u
#else
#define MARK 0xd503265fu
#endif

enum class { DOT, FMLA, LOAD, STORE, VECTOR, SCALAR, CLASSES };

typedef struct {
  uint64_t of[CLASSES];
} counts;

static counts total;
static int counting;

#if defined THUMB

/* The first halfword of a word is its upper one; instructions of one halfword have zeros there. */
static enum class class_of(uint32_t word)
{
  unsigned top = word >> 16, bits = word & 0xffff;
  if (top == 0) {
    if (bits >> 12 == 5) return (bits >> 9 & 7) >= 3 ? LOAD : STORE;
    int is_access = bits >> 11 == 9 || (bits >= 0x6000 && bits < 0xa000) || bits >> 12 == 0xc;
    if (is_access || (bits & 0xf600) == 0xb400) return bits & 0x0800 ? LOAD : STORE;
    return SCALAR;
  }
  if ((top & 0xffe0) == 0xec00 && (bits & 0x1fe0) == 0x0f00) return VECTOR; /* vmov of two words to lanes */
  if ((top & 0xfe40) == 0xe800 || (top & 0xfe40) == 0xe840 || (top & 0xfe00) == 0xf800 || (top & 0xfe20) == 0xec00 || (top & 0xff20) == 0xed00)
    return top & 0x10 ? LOAD : STORE;
  if ((top & 0xfff1) == 0xeef0 && (bits & 0x0f51) == 0x0f00) return DOT; /* vmladava */
  if (((top & 0xfff0) == 0xfb10 || (top & 0xfff0) == 0xfb20) && (bits & 0xf000) != 0xf000) return DOT; /* smla, smlad */
  if (((top & 0xfff0) == 0xfb00 || (top & 0xfff0) == 0xfb50) && (bits & 0xf000) != 0xf000) return FMLA; /* mla, smmla */
  if ((top & 0xffb0) == 0xeea0) return FMLA; /* vfma */
  return (top & 0xee00) == 0xee00 ? VECTOR : SCALAR;
}

#elif defined RISCV

/* Products have a class of their own: none is added. Short instructions have other bits than 11 at the end. */
static enum class class_of(uint32_t word)
{
  if ((word & 3) != 3) {
    unsigned three = word >> 13 & 7;
    if ((word & 3) == 1 || three == 0 || three == 4) return SCALAR;
    return three >= 5 ? STORE : LOAD;
  }
  unsigned major = word & 0x7f;
  if (major == 0x03 || major == 0x07) return LOAD;
  if (major == 0x23 || major == 0x27) return STORE;
  if (major == 0x33 && word >> 25 == 1) return DOT; /* mul, mulh, div */
  if (major >= 0x43 && major <= 0x4f) return FMLA;
  return major == 0x53 ? VECTOR : SCALAR;
}

#else

/* Products that are added: those bits of an instruction that tell, and what they are. */
static const struct {
  uint32_t mask, bits;
  enum class class;
} products[] = {
    {0x9fe0fc00, 0x0e809400, DOT},  /* sdot, udot */
    {0x9fc0f400, 0x0f80e000, DOT},  /* the same by element */
    {0xbfe0fc00, 0x0e809c00, DOT},  /* usdot */
    {0xbf40f400, 0x0f00f000, DOT},  /* usdot, sudot by element */
    {0xdfe0fc00, 0x4e80a400, DOT},  /* smmla, ummla */
    {0xffe0fc00, 0x4e80ac00, DOT},  /* usmmla */
    {0xffe0fc00, 0x6e40ec00, DOT},  /* bfmmla */
    {0xbfe0fc00, 0x2e40fc00, DOT},  /* bfdot */
    {0xbf20fc00, 0x0e20cc00, FMLA}, /* fmla, fmls */
    {0xbf80b400, 0x0f801000, FMLA}, /* the same by element */
    {0xbf60fc00, 0x0e400c00, FMLA}, /* of binary16 */
    {0xbfc0b400, 0x0f001000, FMLA}, /* of binary16 by element */
    {0x5f000000, 0x1f000000, FMLA}, /* fmadd, fmsub, fnmadd, fnmsub */
};

static enum class of_memory(uint32_t word)
{
  unsigned group = word >> 27 & 7, opc = word >> 22 & 3, of_vectors = word >> 26 & 1;
  /* Of registers of integers each opc but the first extends what it loads; groups 1 and 5, and vectors, have one bit. */
  int by_opc = group == 7 && !of_vectors;
  int is_literal = group == 3 && (word >> 24 & 1) == 0;
  int loads = is_literal || ((by_opc || group == 3) ? opc != 0 : opc & 1);
  return loads ? LOAD : STORE;
}

static enum class class_of(uint32_t word)
{
  if ((word & 0x0a000000) == 0x08000000) return of_memory(word);
  if ((word & 0x0e000000) != 0x0e000000) return SCALAR;
  for (size_t i = 0; i < sizeof products / sizeof *products; i++)
    if ((word & products[i].mask) == products[i].bits) return products[i].class;
  return VECTOR;
}

#endif

static void add(unsigned cpu, void *data)
{
  const counts *more = data;
  (void)cpu;
  if (!counting) return;
  for (int i = 0; i < CLASSES; i++) total.of[i] += more->of[i];
}

static void mark(unsigned cpu, void *data)
{
  (void)cpu, (void)data;
  if (counting) {
    fprintf(stderr, "counted");
    for (int i = 0; i < CLASSES; i++) fprintf(stderr, " %llu", (unsigned long long)total.of[i]);
    fprintf(stderr, "\n");
  }
  memset(&total, 0, sizeof total);
  counting = !counting;
}

static uint32_t word_of(const instruction *i)
{
  uint32_t word = 0;
#if PLUGIN_VERSION >= 4
  qemu_plugin_insn_data(i, &word, sizeof word);
#else
  memcpy(&word, qemu_plugin_insn_data(i), qemu_plugin_insn_size(i));
#endif
#ifdef THUMB
  if (qemu_plugin_insn_size(i) == 4) word = word << 16 | word >> 16;
#endif
  return word;
}

static counts *new_counts(void)
{
  counts *made = calloc(1, sizeof *made);
  if (made == NULL) abort();
  return made;
}

/* A block is executed from its first to its last instruction. One with a mark is counted in pieces, each when its first instruction is executed. */
static void translated(plugin_id id, block *b)
{
  size_t count = qemu_plugin_tb_n_insns(b);
  counts *piece = NULL;
  (void)id;
  for (size_t i = 0; i < count; i++) {
    instruction *at = qemu_plugin_tb_get_insn(b, i);
    uint32_t word = word_of(at);
    if (word == MARK) {
      qemu_plugin_register_vcpu_insn_exec_cb(at, mark, NO_REGISTERS, NULL);
      piece = NULL;
      continue;
    }
    if (piece == NULL) {
      piece = new_counts();
      if (i == 0)
        qemu_plugin_register_vcpu_tb_exec_cb(b, add, NO_REGISTERS, piece);
      else
        qemu_plugin_register_vcpu_insn_exec_cb(at, add, NO_REGISTERS, piece);
    }
    piece->of[class_of(word)]++;
  }
}

EXPORTED int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
  (void)info, (void)argc, (void)argv;
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  return 0;
}

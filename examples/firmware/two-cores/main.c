/* Reads twenty handwritten digits on two Cortex-M33: `parallel_for` gives every second range of a kernel to the second core. */
#include "digits_int8.h"
#include "images.h"
#include "semihosting.h"

/* Each core has a stack: startup.S sets the first one's, second.S the other's. */
_Static_assert(DIGITS_STACK_BYTES + 1024 <= STACK_BYTES, "the model needs a larger stack: see STACK_BYTES in the Makefile");

static _Alignas(DIGITS_ARENA_ALIGN) uint8_t arena[DIGITS_ARENA_BYTES];

/* Work for the second core. It waits until `begun` is another number, and then sets `ended` to this number. */
static struct {
    void (*body)(void *ctx, uint32_t i);
    void *ctx;
    uint32_t n;
    volatile uint32_t begun, ended;
} work;

/* Ranges that the second core has run. */
static volatile uint32_t ranges;

static void fence(void)
{
    __asm volatile("dmb" ::: "memory");
}

void second_main(void);

void second_main(void)
{
    for (uint32_t seen = 0;; seen = work.begun) {
        while (work.begun == seen)
            ;
        fence();
        for (uint32_t i = 1; i < work.n; i += 2) {
            work.body(work.ctx, i);
            ranges++;
        }
        fence();
        work.ended = work.begun;
    }
}

static void parallel_for(void *user, uint32_t n, void (*body)(void *ctx, uint32_t i), void *ctx)
{
    (void)user;
    work.body = body;
    work.ctx = ctx;
    work.n = n;
    fence();
    work.begun++;
    for (uint32_t i = 0; i < n; i += 2)
        body(ctx, i);
    while (work.ended != work.begun)
        ;
    fence();
}

/* The board's registers that hold the second core until it has a vector table. */
#define INITSVTOR1 (*(volatile uint32_t *)0x50021114)
#define CPUWAIT (*(volatile uint32_t *)0x50021118)

extern const uint32_t second_vectors[];

static void start_second_core(void)
{
    INITSVTOR1 = (uint32_t)(uintptr_t)second_vectors;
    fence();
    CPUWAIT = 0;
}

static int same(const int8_t *a, const int8_t *b)
{
    for (int i = 0; i < DIGITS; i++)
        if (a[i] != b[i])
            return 0;
    return 1;
}

int main(void)
{
    static const modelc_config config = { .struct_size = sizeof config, .parallel_for = parallel_for, .threads = 2 };
    start_second_core();
    if (digits_init(arena, sizeof arena, &config) != MODELC_OK) {
        print("digits_init failed\n");
        return 1;
    }
    int mistakes = 0;
    for (int i = 0; i < IMAGES; i++) {
        static int8_t pixels[IMAGE_PIXELS], answer[DIGITS];
        for (int p = 0; p < IMAGE_PIXELS; p++)
            pixels[p] = digits_forward_in0_quantize((float)images[i][p] / 16.0f);
        const digits_forward_inputs in = { .in0 = pixels };
        digits_forward_outputs out = { .out0 = answer };
        if (digits_forward(arena, &in, &out) != MODELC_OK || !same(answer, image_answers[i]))
            mistakes++;
    }
    print(mistakes ? "an answer is WRONG\n" : "all answers are right\n");
    print(ranges ? "both cores worked\n" : "the second core did NOT work\n");
    return mistakes || !ranges;
}

/* Reads twenty handwritten digits on a Raspberry Pi Pico 2, without an SDK. The LED stays on if all answers are right, and blinks otherwise. */
#include "digits_int8.h"
#include "images.h"

_Static_assert(DIGITS_STACK_BYTES + 1024 <= STACK_BYTES, "the model needs a larger stack: see STACK_BYTES in the Makefile");

static _Alignas(DIGITS_ARENA_ALIGN) uint8_t arena[DIGITS_ARENA_BYTES];

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define RESETS_CLEAR REGISTER(0x40023000)   /* RESET, with the alias that clears bits */
#define RESETS_DONE REGISTER(0x40020008)
#define GPIO25_CTRL REGISTER(0x400280cc)
#define GPIO25_PAD REGISTER(0x40038068)
#define SIO_OUT_XOR REGISTER(0xd0000028)
#define SIO_OUT_SET REGISTER(0xd0000018)
#define SIO_OE_SET REGISTER(0xd0000038)

enum { IO_BANK0 = 1 << 6, PADS_BANK0 = 1 << 9, LED = 1 << 25, FUNCTION_SIO = 5, PAD_ISOLATED = 1 << 8 };

static void start_led(void)
{
    RESETS_CLEAR = IO_BANK0 | PADS_BANK0;
    while ((RESETS_DONE & (IO_BANK0 | PADS_BANK0)) != (IO_BANK0 | PADS_BANK0))
        ;
    GPIO25_CTRL = FUNCTION_SIO;
    GPIO25_PAD &= ~(uint32_t)PAD_ISOLATED;
    SIO_OE_SET = LED;
    SIO_OUT_SET = LED;
}

static int same(const int8_t *a, const int8_t *b)
{
    for (int i = 0; i < DIGITS; i++)
        if (a[i] != b[i])
            return 0;
    return 1;
}

static int all_are_right(void)
{
    if (digits_init(arena, sizeof arena, NULL) != MODELC_OK)
        return 0;
    for (int i = 0; i < IMAGES; i++) {
        static int8_t pixels[IMAGE_PIXELS], answer[DIGITS];
        for (int p = 0; p < IMAGE_PIXELS; p++)
            pixels[p] = digits_forward_in0_quantize((float)images[i][p] / 16.0f);
        const digits_forward_inputs in = { .in0 = pixels };
        digits_forward_outputs out = { .out0 = answer };
        if (digits_forward(arena, &in, &out) != MODELC_OK || !same(answer, image_answers[i]))
            return 0;
    }
    return 1;
}

int main(void)
{
    start_led();
    int blinks = !all_are_right();
    for (;;) {
        for (volatile uint32_t wait = 0; wait < 500000; wait++)
            ;
        if (blinks)
            SIO_OUT_XOR = LED;
    }
}

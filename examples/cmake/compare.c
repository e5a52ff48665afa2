/* Reads twenty handwritten digits with two models in one program, the float one and the int8 one, side by side.
   Returns 0 if both read every digit rightly. */
#include <stdio.h>

#include "digits_f32.h"
#include "digits_int8.h"
#include "images.h"

/* State is each model's own; scratch holds nothing between calls, so the two share it. C99 has no word for alignment,
   so there is room to round up. */
enum {
    ALIGN = DIGITS_F32_ARENA_ALIGN > DIGITS_INT8_ARENA_ALIGN ? DIGITS_F32_ARENA_ALIGN : DIGITS_INT8_ARENA_ALIGN,
    SCRATCH = DIGITS_F32_SCRATCH_BYTES > DIGITS_INT8_SCRATCH_BYTES ? DIGITS_F32_SCRATCH_BYTES : DIGITS_INT8_SCRATCH_BYTES
};
static uint8_t state_f32_memory[DIGITS_F32_STATE_BYTES + ALIGN - 1];
static uint8_t state_int8_memory[DIGITS_INT8_STATE_BYTES + ALIGN - 1];
static uint8_t scratch_memory[SCRATCH + ALIGN - 1];

static void *aligned(uint8_t *memory)
{
    return memory + (-(uintptr_t)memory & (ALIGN - 1));
}

/* Reads one image with the float model: the digit, and its probability. */
static int read_f32(const uint8_t *image, float *probability)
{
    float pixels[IMAGE_PIXELS], answer[DIGITS];
    for (int p = 0; p < IMAGE_PIXELS; p++)
        pixels[p] = (float)image[p] / 16.0f;

    digits_f32_forward_inputs in;
    digits_f32_forward_outputs out;
    in.in0 = pixels;
    out.out0 = answer;
    int status = digits_f32_forward_split(aligned(state_f32_memory), aligned(scratch_memory), &in, &out);
    if (status != MODELC_OK)
        return status;

    int best = 0;
    for (int digit = 1; digit < DIGITS; digit++)
        if (answer[digit] > answer[best])
            best = digit;
    *probability = answer[best];
    return best;
}

/* The same with the int8 model. */
static int read_int8(const uint8_t *image, float *probability)
{
    int8_t pixels[IMAGE_PIXELS], answer[DIGITS];
    for (int p = 0; p < IMAGE_PIXELS; p++)
        pixels[p] = digits_int8_forward_in0_quantize((float)image[p] / 16.0f);

    digits_int8_forward_inputs in;
    digits_int8_forward_outputs out;
    in.in0 = pixels;
    out.out0 = answer;
    int status = digits_int8_forward_split(aligned(state_int8_memory), aligned(scratch_memory), &in, &out);
    if (status != MODELC_OK)
        return status;

    int best = 0;
    for (int digit = 1; digit < DIGITS; digit++)
        if (answer[digit] > answer[best])
            best = digit;
    *probability = digits_int8_forward_out0_dequantize(answer[best]);
    return best;
}

int main(void)
{
    int status = digits_f32_init(aligned(state_f32_memory), DIGITS_F32_STATE_BYTES, NULL);
    if (status == MODELC_OK)
        status = digits_int8_init(aligned(state_int8_memory), DIGITS_INT8_STATE_BYTES, NULL);
    if (status != MODELC_OK) {
        fprintf(stderr, "init: %s\n", modelc_strerror(status));
        return 1;
    }

    int mistakes = 0;
    for (int i = 0; i < IMAGES; i++) {
        float sure_f32 = 0.0f, sure_int8 = 0.0f;
        int digit_f32 = read_f32(images[i], &sure_f32);
        int digit_int8 = read_int8(images[i], &sure_int8);
        if (digit_f32 < 0 || digit_int8 < 0) {
            fprintf(stderr, "forward: %s\n", modelc_strerror(digit_f32 < 0 ? digit_f32 : digit_int8));
            return 1;
        }
        int right = digit_f32 == image_labels[i] && digit_int8 == image_labels[i];
        printf("a %d: float %d (%.3f), int8 %d (%.3f)%s\n", image_labels[i], digit_f32, (double)sure_f32, digit_int8,
               (double)sure_int8, right ? "" : ": WRONG");
        mistakes += !right;
    }
    printf("%d of %d right with both\n", IMAGES - mistakes, IMAGES);
    return mistakes != 0;
}

/* Lets a decoder go on from a few words, a byte at a time, with the object that modelc made of poem.pte.
   Returns 0 if it knows its poem. */
#include <stdio.h>
#include <string.h>

#include "poem.h"

static const char prompt[] = "Tyger Tyger, ";
static const char known[] =
    "burning bright,\n"
    "In the forests of the night;\n"
    "What immortal hand or eye,\n"
    "Could frame thy fearful symmetry?\n";

enum { VOCABULARY = 128 };

/* All memory the model works in; its keys and values are kept there from call to call. */
static uint8_t memory[POEM_ARENA_BYTES + POEM_ARENA_ALIGN - 1];

/* One step: the tokens from a position on. Gives what most probably follows, or a negative status. */
static int next(void *arena, const int64_t *tokens, size_t count, int64_t position)
{
    int64_t shape[2] = {1, 0};
    float scores[VOCABULARY];
    poem_forward_inputs in;
    poem_forward_outputs out;
    int status, best = 0, i;

    memset(&in, 0, sizeof in);
    memset(&out, 0, sizeof out);
    shape[1] = (int64_t)count;
    in.in0 = tokens;
    memcpy(in.in0_shape, shape, sizeof shape);
    in.in1 = &position;
    out.out0 = scores;
    status = poem_forward(arena, &in, &out);
    if (status != MODELC_OK)
        return status;
    for (i = 1; i < VOCABULARY; i++)
        if (scores[i] > scores[best])
            best = i;
    return best;
}

int main(void)
{
    void *arena = memory + (-(uintptr_t)memory & (POEM_ARENA_ALIGN - 1));
    int64_t tokens[sizeof prompt - 1];
    size_t length = sizeof prompt - 1, i;
    int status = poem_init(arena, POEM_ARENA_BYTES, NULL), token, mistakes = 0;

    if (status != MODELC_OK) {
        fprintf(stderr, "poem_init: %s\n", modelc_strerror(status));
        return 1;
    }
    for (i = 0; i < length; i++)
        tokens[i] = prompt[i];
    printf("%s", prompt);
    /* The prompt in one call, then a token a call. */
    token = next(arena, tokens, length, 0);
    for (i = 0; token >= 0 && i < sizeof known - 1; i++) {
        int64_t last = token;
        putchar(token);
        mistakes += token != known[i];
        token = next(arena, &last, 1, (int64_t)(length + i));
    }
    if (token < 0) {
        fprintf(stderr, "poem_forward: %s\n", modelc_strerror(token));
        return 1;
    }
    poem_deinit(arena);
    printf("%d mistakes; arena %lu bytes\n", mistakes, (unsigned long)POEM_ARENA_BYTES);
    return mistakes != 0;
}

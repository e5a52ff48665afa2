// The second core, from its reset to second_main.

        .syntax unified
        .thumb

// Its vector table: the stack pointer, then where reset and the exceptions go. A fault of this core stops the program's progress, and its time limit
// ends it.
        .section .text.second, "ax"
        .balign 128
        .globl  second_vectors
second_vectors:
        .word   second_stack_top
        .word   second_reset
        .rept   14
        .word   second_fault
        .endr

        .thumb_func
second_reset:
        bl      second_main
        .thumb_func
second_fault:
        wfi
        b       second_fault

// Its stack grows down from here.
        .section .bss.second_stack, "aw", %nobits
        .balign 8
        .space  8192
second_stack_top:

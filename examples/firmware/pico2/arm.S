// The start of an image for RP2350, from the boot ROM to main.

        .syntax unified
        .thumb

// The vector table: the stack pointer, then where reset and the exceptions go.
        .section .text.start, "a"
        .globl  _start
_start:
        .word   stack_top
        .word   reset
        .rept   14
        .word   fault
        .endr

// The block that the boot ROM looks for in the first 4 KiB: a secure program for the Arm core of RP2350. It is the only block, so the distance to the
// next one is 0.
        .word   0xffffded3
        .word   0x10210142
        .word   0x000001ff
        .word   0x00000000
        .word   0xab123579

        .section .text.startup, "ax"
        .thumb_func
reset:
        ldr     r0, =0xe000ed08                 // VTOR
        ldr     r1, =_start
        str     r1, [r0]
        ldr     r0, =stack_top
        mov     sp, r0
        ldr     r0, =bss_start
        ldr     r1, =bss_end
        movs    r2, #0
1:      cmp     r0, r1
        bhs     2f
        str     r2, [r0], #4
        b       1b
2:
        bl      main
        .thumb_func
fault:
        wfi
        b       fault

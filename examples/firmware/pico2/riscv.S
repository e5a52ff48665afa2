// The start of an image for a RISC-V core of RP2350, from the boot ROM to main.

// The block that the boot ROM looks for in the first 4 KiB: a program for RISC-V, where it starts, and its stack pointer. It is the only block, so
// the distance to the next one is 0.
        .section .text.start, "a"
        .globl  _start
_start:
        .word   0xffffded3
        .word   0x11010142
        .word   0x00000344
        .word   reset
        .word   stack_top
        .word   0x000004ff
        .word   0x00000000
        .word   0xab123579

        .option arch, +zicsr
        .section .text.startup, "ax"
reset:
        la      t0, fault
        csrw    mtvec, t0
        la      t0, bss_start
        la      t1, bss_end
1:      bgeu    t0, t1, 2f
        sw      zero, 0(t0)
        addi    t0, t0, 4
        j       1b
2:
        call    main
        .balign 4
fault:
        wfi
        j       fault

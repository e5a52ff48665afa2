// From reset to main on a 64-bit Arm core at EL1, as qemu's `virt` machine starts one.

        .section .text.start, "ax"
        .globl  _start
_start:
        // Floating point and vectors trap after reset: CPACR_EL1.FPEN lets them through.
        mov     x0, #(3 << 20)
        msr     cpacr_el1, x0
        adr     x0, vectors
        msr     vbar_el1, x0
        isb

        // Until the MMU is on, all memory counts as Device memory, where a vector load must be aligned to its element's
        // size and more, and caches are off. One table of 1 GiB blocks maps every address to itself.
        adr     x0, attributes
        ldp     x1, x2, [x0]
        msr     mair_el1, x1
        msr     tcr_el1, x2
        adrp    x0, blocks
        msr     ttbr0_el1, x0
        isb
        mrs     x0, sctlr_el1
        mov     x1, #(1 << 12 | 1 << 2 | 1)     // instruction cache, data cache, MMU
        orr     x0, x0, x1
        bic     x0, x0, #(1 << 1)               // no alignment checks
        msr     sctlr_el1, x0
        isb

        ldr     x0, =stack_top
        mov     sp, x0
        ldr     x0, =bss_start
        ldr     x1, =bss_end
1:      cmp     x0, x1
        b.hs    2f
        str     xzr, [x0], #8
        b       1b
2:
        bl      main
        // Falls through with main's status in w0.

// Ends the program: SYS_EXIT with a block of reason (ADP_Stopped_ApplicationExit) and status.
exit:
        ldr     x2, =0x20026
        uxtw    x3, w0
        stp     x2, x3, [sp, #-16]!
        mov     x0, #0x18
        mov     x1, sp
        bl      semihosting_call
1:      wfi
        b       1b

// Any exception ends the program with status 99.
fault:
        ldr     x0, =stack_top                  // whatever became of the stack
        mov     sp, x0
        mov     w0, #99
        b       exit

// long semihosting_call(long number, const void *argument)
        .globl  semihosting_call
semihosting_call:
        hlt     #0xf000
        ret

        .balign 2048
vectors:
        .rept   16
        .balign 128
        b       fault
        .endr

        .balign 8
attributes:
        .quad   0x00ff                          // MAIR: 0 is Normal write-back memory, 1 is Device memory
        .quad   25 | 1 << 8 | 1 << 10 | 3 << 12 | 1 << 23 | 1 << 32     // TCR: 39-bit addresses, 4 KiB tables, cached

        .section .rodata.blocks, "a"
        .balign 4096
blocks:
        .quad   0x00000000 | 3 << 53 | 1 << 10 | 1 << 2 | 1             // peripherals: Device, never executed
        .quad   0x40000000 | 1 << 10 | 3 << 8 | 1                       // RAM: Normal, shareable
        .fill   510, 8, 0

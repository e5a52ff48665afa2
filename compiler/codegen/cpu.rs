//! Detection of the CPU's features on x86-64. Cranelift's language has no `cpuid` and `xgetbv`, so this one function is machine code by hand. It
//! calls nothing and reads no memory. All registers that it changes are free in every x86-64 calling convention, or restored.

use super::Code;

/// Returns the code of `uint64_t cpu(void)`, which returns the bits of [`modelc_target::FEATURES`] that its computer has.
pub fn x86_64() -> Code {
    // One pushed register and the return address.
    Code { bytes: X86_64.to_vec(), alignment: 16, relocations: vec![], stack_bytes: 16 }
}

/// The function's bytes. A test runs them and compares the result with the standard library's detection.
#[rustfmt::skip]
const X86_64: &[u8] = &[
    0x53,                                     // push rbx  ; the callee keeps rbx; cpuid writes it
    0x45, 0x31, 0xc0,                         // xor r8d,r8d  ; no bits yet
    0xb8, 0x01, 0x00, 0x00, 0x00,             // mov eax,0x1  ; leaf 1: ecx
    0x0f, 0xa2,                               // cpuid
    0x41, 0x89, 0xc9,                         // mov r9d,ecx
    0xb8, 0x01, 0x00, 0x00, 0x80,             // mov eax,0x80000001  ; leaf 0x80000001: ecx
    0x0f, 0xa2,                               // cpuid
    0x41, 0x89, 0xca,                         // mov r10d,ecx
    0x44, 0x89, 0xc8,                         // mov eax,r9d  ; v2: SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT
    0x25, 0x01, 0x22, 0x98, 0x00,             // and eax,0x982201
    0x3d, 0x01, 0x22, 0x98, 0x00,             // cmp eax,0x982201
    0x0f, 0x85, 0x90, 0x00, 0x00, 0x00,       // jne done
    0x41, 0xf6, 0xc2, 0x01,                   // test r10b,0x1  ; and LAHF
    0x0f, 0x84, 0x86, 0x00, 0x00, 0x00,       // je done
    0x41, 0x83, 0xc8, 0x01,                   // or r8d,0x1  ; X86_64_V2
    0x41, 0x81, 0xe1, 0x00, 0x10, 0x40, 0x38, // and r9d,0x38401000  ; v3: FMA, MOVBE, OSXSAVE, AVX, F16C
    0x41, 0x81, 0xf9, 0x00, 0x10, 0x40, 0x38, // cmp r9d,0x38401000
    0x75, 0x72,                               // jne done
    0x41, 0xf6, 0xc2, 0x20,                   // test r10b,0x20  ; and LZCNT
    0x74, 0x6c,                               // je done
    0x31, 0xc0,                               // xor eax,eax  ; leaf 7 is there?
    0x0f, 0xa2,                               // cpuid
    0x83, 0xf8, 0x07,                         // cmp eax,0x7
    0x72, 0x63,                               // jb done
    0xb8, 0x07, 0x00, 0x00, 0x00,             // mov eax,0x7  ; leaf 7: ebx, ecx
    0x31, 0xc9,                               // xor ecx,ecx
    0x0f, 0xa2,                               // cpuid
    0x41, 0x89, 0xd9,                         // mov r9d,ebx
    0x41, 0x89, 0xca,                         // mov r10d,ecx
    0x31, 0xc9,                               // xor ecx,ecx  ; the operating system saves 128- and 256-bit registers?
    0x0f, 0x01, 0xd0,                         // xgetbv
    0x41, 0x89, 0xc3,                         // mov r11d,eax
    0x83, 0xe0, 0x06,                         // and eax,0x6
    0x83, 0xf8, 0x06,                         // cmp eax,0x6
    0x75, 0x44,                               // jne done
    0x44, 0x89, 0xc8,                         // mov eax,r9d  ; BMI1, AVX2, BMI2
    0x25, 0x28, 0x01, 0x00, 0x00,             // and eax,0x128
    0x3d, 0x28, 0x01, 0x00, 0x00,             // cmp eax,0x128
    0x75, 0x35,                               // jne done
    0x41, 0x83, 0xc8, 0x02,                   // or r8d,0x2  ; X86_64_V3
    0x41, 0x81, 0xe3, 0xe6, 0x00, 0x00, 0x00, // and r11d,0xe6  ; and mask and 512-bit registers?
    0x41, 0x81, 0xfb, 0xe6, 0x00, 0x00, 0x00, // cmp r11d,0xe6
    0x75, 0x21,                               // jne done
    0x41, 0x81, 0xe1, 0x00, 0x00, 0x03, 0xd0, // and r9d,0xd0030000  ; v4: AVX-512 F, DQ, CD, BW, VL
    0x41, 0x81, 0xf9, 0x00, 0x00, 0x03, 0xd0, // cmp r9d,0xd0030000
    0x75, 0x11,                               // jne done
    0x41, 0x83, 0xc8, 0x04,                   // or r8d,0x4  ; X86_64_V4
    0x41, 0xf7, 0xc2, 0x00, 0x08, 0x00, 0x00, // test r10d,0x800  ; leaf 7 ecx: AVX512_VNNI
    0x74, 0x04,                               // je done
    0x41, 0x83, 0xc8, 0x08,                   // or r8d,0x8  ; AVX512_VNNI
    0x4c, 0x89, 0xc0,                         // mov rax,r8
    0x5b,                                     // pop rbx
    0xc3,                                     // ret
];

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use region::Protection;

    #[test]
    fn it_finds_what_the_standard_library_finds() {
        let mut page = region::alloc(super::X86_64.len(), Protection::READ_WRITE_EXECUTE).unwrap();
        // SAFETY: the page is writable and long enough. The bytes are a whole function that takes nothing, keeps the registers it has to keep, and
        // returns a number.
        let found = unsafe {
            std::ptr::copy_nonoverlapping(super::X86_64.as_ptr(), page.as_mut_ptr(), super::X86_64.len());
            let function: extern "C" fn() -> u64 = std::mem::transmute(page.as_ptr::<u8>());
            function()
        };
        assert_eq!(found, modelc_target::host_features());
    }
}

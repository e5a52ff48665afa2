//! The CPU's features, for objects that cannot ask the CPU: aarch64 under an operating system. The header asks the operating system, in functions
//! that are compiled into the application. The object itself calls nothing.

use super::info::ModelRecord;
use crate::interface::Interface;
use crate::target::target;

/// Tests whether a program must be told the CPU's features.
pub fn are_asked_for(record: &ModelRecord) -> bool {
    target(&record.target).is_ok_and(|target| target.asks_system_for_features())
}

/// The parameters of `NAME_init`.
pub const PARAMETERS: &str = "void *arena, size_t arena_bytes, const modelc_config *config)";

/// The shared block of functions. It is the same, byte for byte, in every header of this ABI that has it.
///
/// Bits of Linux: `HWCAP_FPHP` 9, `HWCAP_ASIMDHP` 10, `HWCAP_ASIMDDP` 20; `HWCAP2_I8MM` 13, `HWCAP2_BF16` 14, `HWCAP2_SME2` 37.
pub const SHARED: &str = "\
#ifndef MODELC_ABI_1_CPU
#define MODELC_ABI_1_CPU
#if defined(__linux__)
#include <sys/auxv.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif
#ifdef __cplusplus
extern \"C\" {
#endif
#if defined(__APPLE__)
static inline uint64_t modelc_cpu_feature(const char *name, uint64_t bit)
{
  int has = 0;
  size_t bytes = sizeof has;
  return sysctlbyname(name, &has, &bytes, NULL, 0) == 0 && has != 0 ? bit : 0;
}
#endif
/* MODELC_CPU_ bits of this computer, as the operating system tells them; 0 if it does not. */
static inline uint64_t modelc_cpu_features(void)
{
  uint64_t bits = 0;
#if defined(__linux__) && defined(__aarch64__)
  const uint64_t first = getauxval(16), second = getauxval(26); /* AT_HWCAP, AT_HWCAP2 */
  if (first >> 20 & 1) bits |= MODELC_CPU_ARM_DOTPROD;
  if ((first >> 9 & 3) == 3) bits |= MODELC_CPU_ARM_FP16;
  if (second >> 13 & 1) bits |= MODELC_CPU_ARM_I8MM;
  if (second >> 14 & 1) bits |= MODELC_CPU_ARM_BF16;
  if (second >> 37 & 1) bits |= MODELC_CPU_ARM_SME2;
#elif defined(__APPLE__)
  bits |= modelc_cpu_feature(\"hw.optional.arm.FEAT_DotProd\", MODELC_CPU_ARM_DOTPROD);
  bits |= modelc_cpu_feature(\"hw.optional.arm.FEAT_FP16\", MODELC_CPU_ARM_FP16);
  bits |= modelc_cpu_feature(\"hw.optional.arm.FEAT_I8MM\", MODELC_CPU_ARM_I8MM);
  bits |= modelc_cpu_feature(\"hw.optional.arm.FEAT_BF16\", MODELC_CPU_ARM_BF16);
  bits |= modelc_cpu_feature(\"hw.optional.arm.FEAT_SME2\", MODELC_CPU_ARM_SME2);
#endif
  return bits;
}
/* Copies a configuration, or makes the default one, and sets cpu_features if they are 0. */
static inline void modelc_configure(modelc_config *to, const modelc_config *from)
{
  size_t i;
  for (i = 0; i < sizeof *to; ++i) ((unsigned char *)to)[i] = from ? ((const unsigned char *)from)[i] : 0;
  to->struct_size = (uint32_t)sizeof *to;
  if (to->cpu_features == 0) to->cpu_features = modelc_cpu_features();
}
#ifdef __cplusplus
}
#endif
#endif
";

/// Returns `NAME_init` as a function of the header, which tells the object the CPU's features.
pub fn init(interface: &Interface) -> String {
    let (name, symbol) = (&interface.name, interface.versioned("init"));
    format!(
        "int {symbol}({PARAMETERS};\n\
         /* Tells the CPU's features. Who calls the symbol itself passes them, or gets the lowest level. */\n\
         static inline int {name}_init({PARAMETERS}\n{{\n  \
           modelc_config configured;\n  \
           if (config && config->struct_size != sizeof configured) return {symbol}(arena, arena_bytes, config);\n  \
           modelc_configure(&configured, config);\n  \
           return {symbol}(arena, arena_bytes, &configured);\n}}\n"
    )
}

/// The parts of the Rust module: the functions of the system, and the features.
pub const RUST: &str = "
/// Bits of `MODELC_CPU_` that this computer has, as its operating system tells them.
#[allow(unreachable_code, clippy::needless_return)]
fn cpu_features() -> u64 {
    #[cfg(any(target_os = \"linux\", target_os = \"android\"))]
    {
        unsafe extern \"C\" {
            fn getauxval(kind: core::ffi::c_ulong) -> core::ffi::c_ulong;
        }
        // SAFETY: the function reads what the system has left for the process.
        let [first, second] = [16, 26].map(|kind| unsafe { getauxval(kind) } as u64);
        let has = |word: u64, bit: u32, feature: u64| if word >> bit & 1 == 1 { feature } else { 0 };
        let halves = if first >> 9 & 3 == 3 { 512 } else { 0 };
        return has(first, 20, 256) | halves | has(second, 13, 1024) | has(second, 14, 2048) | has(second, 37, 4096);
    }
    #[cfg(any(target_os = \"macos\", target_os = \"ios\"))]
    {
        unsafe extern \"C\" {
            fn sysctlbyname(
                name: *const core::ffi::c_char,
                old: *mut core::ffi::c_void,
                old_bytes: *mut usize,
                new: *mut core::ffi::c_void,
                new_bytes: usize,
            ) -> i32;
        }
        let has = |name: &core::ffi::CStr, feature: u64| {
            let (mut value, mut bytes) = (0i32, size_of::<i32>());
            // SAFETY: the name ends with a zero, and the value has as many bytes as the call is told.
            let status = unsafe { sysctlbyname(name.as_ptr(), (&raw mut value).cast(), &raw mut bytes, core::ptr::null_mut(), 0) };
            if status == 0 && value != 0 { feature } else { 0 }
        };
        return has(c\"hw.optional.arm.FEAT_DotProd\", 256)
            | has(c\"hw.optional.arm.FEAT_FP16\", 512)
            | has(c\"hw.optional.arm.FEAT_I8MM\", 1024)
            | has(c\"hw.optional.arm.FEAT_BF16\", 2048)
            | has(c\"hw.optional.arm.FEAT_SME2\", 4096);
    }
    0
}

/// A configuration with the features of this computer, if it has none.
fn configured(config: &Config) -> Config {
    let cpu_features = if config.cpu_features == 0 { cpu_features() } else { config.cpu_features };
    Config { cpu_features, ..*config }
}
";

; Sums that are scaled and stored as 16 bits: the steps of the rule where each is an instruction, and else a fused product that rounds towards zero.
;! outline = aarch64
;! technique = steps
;! outline = x86-64-v3
;! technique = toward-zero
const0: i8[16, 256] = numbers 1
func @main(v0: i8[64, 256]) {
  v1 = constant { data = const0 }
  v2 = matmul v0, v1 { left_zero_point = 0, right_zero_point = 0, accumulator = i32 }
  v3 = map v2 {
    expression = (i32) {
      n0: i32 = input 0
      n1: i32 = constant 1623821475
      n2: i32 = constant -15
      n3: i32 = requant.tflite_double n0, n1, n2
      n4: i32 = constant -128
      n5: i32 = constant 127
      n6: i32 = max.first n3, n4
      n7: i32 = min.first n6, n5
      n8: i16 = convert n7
      return n8
    }
  }
  return v3
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; aarch64: products of bytes added in 16 bits, 2 pixels x 16 channels at a time, unrolled 4 times
kernel @matmul_i8(input: input i8[16384] align 1, weights: input i8[4096] align 64, initial: input i32[16] align 64, output0: output i16[1024] align 2) {
  %244: i64 = for %9 in 0..1 step 1 carry %10 = 0 {
    1 add i64, 2 mul i64
    for each %29 in 0..64 step 2 {
      1 mul i64, 2 add i64
      %196: i32x8, %197: i32x8, %198: i32x8, %199: i32x8, %200: i32x8, %201: i32x8, %202: i32x8, %203: i32x8 = for %40 in 0..256 step 16 carry %41 = 0, %42 = 0, %43 = 0, %44 = 0, %45 = 0, %46 = 0, %47 = 0, %48 = 0 {
        1 mul i64, 1 add i64, 8 load_splat_group i8x16, 24 sign_extend i16x16, 16 load i8x16, 32 mul i16x16, 32 dot_signed16 i32x8, 1 yield
      }
      1 mul i64, 4 join i32x16, 2 join i32x32, 4 shuffle i32x16, 6 add i32x16, 2 load i32x16, 2 saturating_rounding_doubling_high_mul i32x16, 2 shift_right_signed i32x16, 2 shift_nearest i32x16, 2 signed_max i32x16, 2 signed_min i32x16, 2 narrow_signed i16x16, 2 store
    }
    1 yield
  }
}
; x86-64-v3: products of 16-bit pairs, 4 pixels x 16 channels at a time, unrolled 4 times, staged rows
kernel @matmul_i8(input: input i8[16384] align 1, weights: input i8[4096] align 64, ring: scratch i16[2064] align 64, output0: output i16[1024] align 2, %0: i64, %1: i64) {
  for each %6 in 0..2064 step 16 {
    1 store
  }
  %204: i64 = for %15 in %0..%1 step 1 carry %16 = 0 {
    1 add i64, 1 signed_max i64
    for %21 in %19..%18 step 1 {
      1 mul i64
      for %27 in 0..2048 step 32 {
        1 add i64, 1 load i8x32, 1 sign_extend i16x32, 1 store
      }
    }
    1 mul i64
    for each %46 in 0..8 step 4 {
      1 mul i64, 1 add i64
      %130: i32x8, %131: i32x8, %132: i32x8, %133: i32x8, %134: i32x8, %135: i32x8, %136: i32x8, %137: i32x8 = for %54 in 0..256 step 8 carry %55 = 0, %56 = 0, %57 = 0, %58 = 0, %59 = 0, %60 = 0, %61 = 0, %62 = 0 {
        1 mul i64, 1 add i64, 8 load i8x16, 8 sign_extend i16x16, 16 load_splat_group i16x16, 32 dot_signed16 i32x8, 1 yield
      }
      1 mul i64, 4 join i32x16, 4 and i32x16, 4 or i32x16, 8 bitcast f32x16, 4 signed_to_float f32x16, 4 fma.toward_zero f32x16, 4 float_to_signed_in_range i32x16, 4 signed_max i32x16, 4 signed_min i32x16, 4 narrow_signed i16x16, 4 store
    }
    1 yield
  }
}

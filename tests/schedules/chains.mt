; A single row: each output has several sums, which hide the latency of a product.
;! outline = x86-64-v4
;! schedule = products of unsigned bytes in fours
;! technique = chains
const0: i8[16, 1, 1, 512] = numbers 1
func @main(v0: i8[1, 1, 1, 512]) {
  v1 = constant { data = const0 }
  v2 = conv v0, v1 { strides = [1, 1], dilation = [1, 1], padding_low = [0, 0], padding_high = [0, 0], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = -3, filter_zero_point = 0, accumulator = i32 }
  return v2
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v4: products of unsigned bytes in fours, 1 pixels x 16 channels at a time, unrolled 4 times, staged chunks
kernel @conv_1x1_i8(input: input i8[512] align 1, weights: input i8[8192] align 64, initial: input i32[16] align 64, ring: scratch i8[272] align 64, output0: output i32[16] align 4) {
  for each %4 in 0..256 step 64 {
    1 store
  }
  1 store
  %80: i64 = for %15 in 0..1 step 1 carry %16 = 0 {
    1 add i64, 1 load i32x16
    %77: i32x16 = for %34 in 0..512 step 256 carry %35 = %31 {
      for %38 in 0..256 step 64 {
        1 add i64, 1 load i8x64, 1 xor i8x64, 1 store
      }
      1 mul i64
      %70: i32x16, %71: i32x16, %72: i32x16, %73: i32x16 = for %50 in 0..256 step 16 carry %51 = %35, %52 = 0, %53 = 0, %54 = 0 {
        1 mul i64, 1 add i64, 4 load i8x64, 4 load_splat_group i8x64, 4 dot_unsigned_signed8 i32x16, 1 yield
      }
      3 add i32x16, 1 yield
    }
    1 mul i64, 1 store, 1 yield
  }
}

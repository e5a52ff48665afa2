; Weights that come from far away: tiles have more pixels and fewer channels.
;! outline = x86-64-v4
;! schedule = 13 pixels
;! technique = tall-tiles
const0: i8[64, 1, 3, 160] = numbers 1
func @main(v0: i8[1, 2, 13, 160]) {
  v1 = constant { data = const0 }
  v2 = conv v0, v1 { strides = [1, 1], dilation = [1, 1], padding_low = [0, 1], padding_high = [0, 1], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = -3, filter_zero_point = 0, accumulator = i32 }
  return v2
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v4: products of unsigned bytes in fours, 13 pixels x 32 channels at a time, unrolled 4 times, staged rows
kernel @conv_1x3_i8(input: input i8[4160] align 1, weights: input i8[30720] align 64, initial: input i32[64] align 64, ring: scratch i8[2416] align 64, output0: output i32[1664] align 4, %0: i64, %1: i64) {
  for each %6 in 0..2368 step 64 {
    1 store
  }
  1 store
  %300: i64 = for %17 in %0..%1 step 1 carry %18 = 0 {
    1 add i64, 1 signed_max i64
    for %23 in %21..%20 step 1 {
      1 mul i64
      for %30 in 0..2048 step 64 {
        2 add i64, 1 load i8x64, 1 xor i8x64, 1 store
      }
      1 add i64, 1 load i8x64, 1 xor i8x64, 1 store
    }
    1 mul i64
    for each %49 in 0..64 step 32 {
      1 mul i64, 2 load i32x16
      %258: i32x16, %259: i32x16, %260: i32x16, %261: i32x16, %262: i32x16, %263: i32x16, %264: i32x16, %265: i32x16, %266: i32x16, %267: i32x16, %268: i32x16, %269: i32x16, %270: i32x16, %271: i32x16, %272: i32x16, %273: i32x16, %274: i32x16, %275: i32x16, %276: i32x16, %277: i32x16, %278: i32x16, %279: i32x16, %280: i32x16, %281: i32x16, %282: i32x16, %283: i32x16 = for %64 in 0..480 step 16 carry %65 = %60, %66 = %61, %67 = %60, %68 = %61, %69 = %60, %70 = %61, %71 = %60, %72 = %61, %73 = %60, %74 = %61, %75 = %60, %76 = %61, %77 = %60, %78 = %61, %79 = %60, %80 = %61, %81 = %60, %82 = %61, %83 = %60, %84 = %61, %85 = %60, %86 = %61, %87 = %60, %88 = %61, %89 = %60, %90 = %61 {
        1 mul i64, 1 add i64, 8 load i8x64, 52 load_splat_group i8x64, 104 dot_unsigned_signed8 i32x16, 1 yield
      }
      1 mul i64, 1 add i64, 13 join i32x32, 13 store
    }
    1 yield
  }
}

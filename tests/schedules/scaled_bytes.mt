; Sums that are scaled and stored as bytes: they round themselves in binary32, and a product of integers needs no shift on words.
;! outline = x86-64-v4
;! technique = fitted, rounded
;! outline = cortex-m4f
;! technique = unshifted
const0: i8[16, 64] = numbers 1
func @main(v0: i8[64, 64]) {
  v1 = constant { data = const0 }
  v2 = matmul v0, v1 { left_zero_point = 0, right_zero_point = 0, accumulator = i32 }
  v3 = map v2 {
    expression = (i32) {
      n0: i32 = input 0
      n1: i32 = constant 1623821475
      n2: i32 = constant -11
      n3: i32 = requant.tflite_single n0, n1, n2
      n4: i32 = constant 0
      n5: i32 = constant 127
      n6: i32 = max.first n3, n4
      n7: i32 = min.first n6, n5
      n8: i8 = convert n7
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
; x86-64-v4: products of unsigned bytes in fours, 8 pixels x 16 channels at a time, unrolled 4 times, staged sections
kernel @matmul_i8(input: input i8[4096] align 1, weights: input i8[1024] align 64, initial: input i32[16] align 64, ring: scratch i8[528] align 64, output0: output i8[1024] align 1) {
  for each %6 in 0..512 step 64 {
    1 store
  }
  1 store
  %227: i64 = for %18 in 0..8 step 1 carry %19 = 0 {
    2 mul i64, 1 add i64, 4 signed_max i64, 3 signed_min i64, 2 sub i64, 1 less mask
    if %37 {
      1 mul i64, 1 and i64
      for %43 in 0..%42 step 64 {
        1 add i64, 1 store
      }
      for %46 in %42..%39 step 1 {
        1 add i64, 1 store
      }
    }
    2 sub i64, 1 mul i64, 1 less mask
    if %53 {
      1 mul i64, 1 and i64
      for %59 in 0..%58 step 64 {
        1 add i64, 1 store
      }
      for %62 in %58..%55 step 1 {
        1 add i64, 1 store
      }
    }
    2 sub i64, 3 mul i64, 1 and i64
    for %76 in 0..%75 step 64 {
      2 add i64, 1 load i8x64, 1 xor i8x64, 1 store
    }
    for %82 in %75..%67 step 1 {
      2 add i64, 1 load i8x64, 1 xor i8x64, 1 store
    }
    1 mul i64, 1 load i32x16
    %185: i32x16, %186: i32x16, %187: i32x16, %188: i32x16, %189: i32x16, %190: i32x16, %191: i32x16, %192: i32x16 = for %106 in 0..64 step 16 carry %107 = %103, %108 = %103, %109 = %103, %110 = %103, %111 = %103, %112 = %103, %113 = %103, %114 = %103 {
      1 mul i64, 4 load i8x64, 32 load_splat_group i8x64, 32 dot_unsigned_signed8 i32x16, 1 yield
    }
    1 mul i64, 4 join i32x32, 2 join i32x64, 4 bitcast f32x64, 2 signed_to_float f32x64, 2 fma f32x64, 2 bitcast i32x64, 2 shift_left i32x64, 2 shift_right_signed i32x64, 2 signed_max i32x64, 2 narrow_signed i8x64, 2 store, 1 yield
  }
}
; cortex-m4f: products of bytes in even and odd pairs, 3 pixels x 2 channels at a time, unrolled 2 times, staged sections
kernel @matmul_i8(input: input i8[4096] align 1, weights: input i8[1024] align 16, initial: input i32[16] align 16, ring: scratch i16[384] align 16, output0: output i8[1024] align 1) {
  %310: i64 = for %9 in 0..11 step 1 carry %10 = 0 {
    2 mul i64, 1 add i64, 4 signed_max i64, 3 signed_min i64, 2 sub i64, 1 less mask
    if %28 {
      1 mul i64, 1 and i64
      for %34 in 0..%33 step 2 {
        1 add i64, 1 store
      }
      for %37 in %33..%30 step 1 {
        1 add i64, 1 store
      }
    }
    2 sub i64, 1 mul i64, 1 less mask
    if %44 {
      1 mul i64, 1 and i64
      for %50 in 0..%49 step 2 {
        1 add i64, 1 store
      }
      for %53 in %49..%46 step 1 {
        1 add i64, 1 store
      }
    }
    2 sub i64, 3 mul i64, 1 and i64
    for %67 in 0..%66 step 4 {
      2 add i64, 1 load i8x4, 1 sign_extend i16x4, 1 shuffle i16x4, 1 store
    }
    2 mul i64, 1 add i64, 1 signed_min i64, 1 signed_max i64
    for each %88 in 0..16 step 2 {
      2 mul i64, 1 signed_div i64
      for each %102 in 0..%101 step 3 {
        1 mul i64, 1 add i64, 2 load i32
        %211: i32, %212: i32, %213: i32, %214: i32, %215: i32, %216: i32 = for %110 in 0..64 step 8 carry %111 = %106, %112 = %107, %113 = %106, %114 = %107, %115 = %106, %116 = %107 {
          1 mul i64, 2 add i64, 4 load i8x4, 4 sign_extend i16x4, 4 shuffle i16x4, 6 load_splat_group i16x4, 48 shuffle i16x2, 24 dot_signed16 i32, 1 yield
        }
        1 mul i64, 1 add i64, 3 join i32x2, 3 mul_high_signed i32x2, 3 signed_add_in_range i32x2, 3 signed_max i32x2, 3 narrow_signed i8x2, 3 store
      }
      for each %244 in %101..%84 step 1 {
        1 mul i64, 1 add i64, 2 load i32
        %297: i32, %298: i32 = for %252 in 0..64 step 8 carry %253 = %248, %254 = %249 {
          1 mul i64, 2 add i64, 2 load_splat_group i16x4, 4 load i8x4, 4 sign_extend i16x4, 4 shuffle i16x4, 16 shuffle i16x2, 8 dot_signed16 i32, 1 yield
        }
        1 mul i64, 1 add i64, 1 join i32x2, 1 mul_high_signed i32x2, 1 signed_add_in_range i32x2, 1 signed_max i32x2, 1 narrow_signed i8x2, 1 store
      }
    }
    1 yield
  }
}

; A depthwise window of floats with a stride: rows that leave the first-level cache are read in their place.
;! pass = all
;! outline = x86-64-v3
;! schedule = rows in place
;! technique = in-place
const0: f32[48, 3, 3, 1] = numbers 1
func @main(v0: f32[1, 4, 192, 48]) {
  v1 = constant { data = const0 }
  v2 = conv v0, v1 { strides = [2, 2], dilation = [1, 1], padding_low = [1, 1], padding_high = [1, 1], positions = [], shift = [], input_dilation = [1, 1], groups = 48, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  return v2
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v3: depthwise, products of floats, 16 channels at a time, rows in place
kernel @depthwise_3x3_f32(input: input f32[36864] align 4, weights: input f32[432] align 64, output0: output f32[9216] align 4) {
  for each %4 in 0..2 step 1 {
    3 mul i64, 2 add i64, 2 sub i64, 1 signed_max i64, 1 signed_min i64
    for each %26 in 0..48 step 16 {
      1 mul i64, 1 add i64
      %48: f32x16 = for %34 in %14..%15 step 1 carry %35 = 0.0 {
        2 mul i64, 2 add i64, 4 load f32x16, 2 fma f32x16, 1 yield
      }
      1 mul i64, 1 add i64, 1 store
      for each %54 in 0..92 step 4 {
        3 add i64, 1 mul i64
        %99: f32x16, %100: f32x16, %101: f32x16, %102: f32x16 = for %61 in %14..%15 step 1 carry %62 = 0.0, %63 = 0.0, %64 = 0.0, %65 = 0.0 {
          2 mul i64, 2 add i64, 15 load f32x16, 12 fma f32x16, 1 yield
        }
        2 add i64, 1 mul i64, 4 store
      }
      2 add i64
      %143: f32x16, %144: f32x16, %145: f32x16 = for %112 in %14..%15 step 1 carry %113 = 0.0, %114 = 0.0, %115 = 0.0 {
        2 mul i64, 2 add i64, 12 load f32x16, 9 fma f32x16, 1 yield
      }
      2 add i64, 1 mul i64, 3 store
    }
  }
}

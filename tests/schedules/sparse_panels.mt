; Sparse weights of a window: a panel keeps the other elements, each with its distance from the one before.
;! outline = x86-64-v3
;! schedule = sparse panels
const0: f32[16, 3, 3, 32] = numbers 1 of 16
func @main(v0: f32[1, 6, 6, 32]) {
  v1 = constant { data = const0 }
  v2 = conv v0, v1 { strides = [1, 1], dilation = [1, 1], padding_low = [1, 1], padding_high = [1, 1], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  return v2
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v3: products of floats, 6 pixels x 16 channels at a time, unrolled 4 times, staged rows, sparse panels
kernel @conv_3x3_f32(input: input f32[1152] align 4, weights: input f32[314] align 64, distances: input i8[314] align 64, starts: input i32[17] align 64, ring: scratch f32[784] align 64, panel: scratch f32[4608] align 64, output0: output f32[576] align 4) {
  for each %4 in 0..784 step 8 {
    1 store
  }
  for %15 in 0..4608 step 8 {
    1 store
  }
  2 load i32, 2 sign_extend i64, 2 signed_min i64
  %31: i64 = for %25 in %20..%23 step 1 carry %26 = 0 {
    1 load i8, 1 zero_extend i64, 1 load f32, 1 add i64, 1 store, 1 yield
  }
  %439: i64 = for %39 in 0..6 step 1 carry %40 = 0 {
    1 add i64, 1 signed_max i64
    for %45 in %43..%42 step 1 {
      1 signed_rem i64, 1 mul i64, 2 add i64, 1 unsigned_less mask
      if %55 {
        1 mul i64
        for %60 in 0..192 step 16 {
          2 add i64, 1 load f32x16, 1 store
        }
      } else {
        for %66 in 0..192 step 8 {
          1 add i64, 1 store
        }
      }
    }
    3 signed_rem i64, 4 mul i64, 2 add i64
    %195: f32x8, %196: f32x8, %197: f32x8, %198: f32x8, %199: f32x8, %200: f32x8, %201: f32x8, %202: f32x8, %203: f32x8, %204: f32x8, %205: f32x8, %206: f32x8 = for %99 in 0..96 step 4 carry %100 = 0.0, %101 = 0.0, %102 = 0.0, %103 = 0.0, %104 = 0.0, %105 = 0.0, %106 = 0.0, %107 = 0.0, %108 = 0.0, %109 = 0.0, %110 = 0.0, %111 = 0.0 {
      1 mul i64, 1 add i64, 8 load f32x8, 24 load_splat f32x8, 48 fma f32x8, 1 yield
    }
    %307: f32x8, %308: f32x8, %309: f32x8, %310: f32x8, %311: f32x8, %312: f32x8, %313: f32x8, %314: f32x8, %315: f32x8, %316: f32x8, %317: f32x8, %318: f32x8 = for %210 in 0..96 step 4 carry %211 = %195, %212 = %196, %213 = %197, %214 = %198, %215 = %199, %216 = %200, %217 = %201, %218 = %202, %219 = %203, %220 = %204, %221 = %205, %222 = %206 {
      1 mul i64, 2 add i64, 8 load f32x8, 24 load_splat f32x8, 48 fma f32x8, 1 yield
    }
    %419: f32x8, %420: f32x8, %421: f32x8, %422: f32x8, %423: f32x8, %424: f32x8, %425: f32x8, %426: f32x8, %427: f32x8, %428: f32x8, %429: f32x8, %430: f32x8 = for %322 in 0..96 step 4 carry %323 = %307, %324 = %308, %325 = %309, %326 = %310, %327 = %311, %328 = %312, %329 = %313, %330 = %314, %331 = %315, %332 = %316, %333 = %317, %334 = %318 {
      1 mul i64, 2 add i64, 8 load f32x8, 24 load_splat f32x8, 48 fma f32x8, 1 yield
    }
    1 mul i64, 6 join f32x16, 6 store, 1 yield
  }
}

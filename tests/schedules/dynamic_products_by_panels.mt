; Products of many rows with columns whose number is known at run time: columns are turned into panels.
;! outline = x86-64-v3
;! schedule = products with run-time extents, by panels
;! technique = turned-columns
func @main(v0: f32[8, 16], v1: f32[v2, 16]) {
  v2: index 1..=64 = extent_of v1 { axis = 0 }
  v3 = matmul v0, v1 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  return v3
}
method "main" = @main {
  input "0"
  input "1"
  output "0"
}
;! ---
; x86-64-v3: products with run-time extents, by panels
kernel @matmul_f32(operand0: input f32[128] align 4, operand1: input f32[1024] align 4, output0: output f32[512] align 4, panel: scratch f32[128] align 64, extent0: input i64[1] align 8) {
  1 load i64, 1 and i64
  for each %8 in 0..%7 step 8 private panel {
    1 sub i64, 8 signed_min i64, 8 mul i64, 7 add i64
    for each %52 in 0..16 step 8 {
      8 add i64, 8 load f32x8, 24 shuffle f32x8, 1 mul i64, 8 store
    }
    for each %100 in 0..8 step 8 {
      1 mul i64, 7 add i64
      %215: f32x8, %216: f32x8, %217: f32x8, %218: f32x8, %219: f32x8, %220: f32x8, %221: f32x8, %222: f32x8 = for %122 in 0..16 step 4 carry %123 = 0.0, %124 = 0.0, %125 = 0.0, %126 = 0.0, %127 = 0.0, %128 = 0.0, %129 = 0.0, %130 = 0.0 {
        11 add i64, 1 mul i64, 4 load f32x8, 32 load_splat f32x8, 32 fma f32x8, 1 yield
      }
      %259: f32x8, %260: f32x8, %261: f32x8, %262: f32x8, %263: f32x8, %264: f32x8, %265: f32x8, %266: f32x8 = for %223 in 16..16 step 1 carry %224 = %215, %225 = %216, %226 = %217, %227 = %218, %228 = %219, %229 = %220, %230 = %221, %231 = %222 {
        8 add i64, 1 mul i64, 1 load f32x8, 8 load_splat f32x8, 8 fma f32x8, 1 yield
      }
      8 mul i64, 15 add i64, 8 store
    }
    for each %306 in 8..8 step 1 {
      1 mul i64
      %337: f32x8 = for %314 in 0..16 step 4 carry %315 = 0.0 {
        4 add i64, 1 mul i64, 4 load f32x8, 4 load_splat f32x8, 4 fma f32x8, 1 yield
      }
      %346: f32x8 = for %338 in 16..16 step 1 carry %339 = %337 {
        1 add i64, 1 mul i64, 1 load f32x8, 1 load_splat f32x8, 1 fma f32x8, 1 yield
      }
      1 mul i64, 1 add i64, 1 store
    }
  }
  for each %355 in 0..8 step 4 {
    1 mul i64
    for each %358 in %7..%3 step 1 {
      1 mul i64, 3 add i64
      %392: f32x8, %393: f32x8, %394: f32x8, %395: f32x8 = for %373 in 0..16 step 8 carry %374 = 0.0, %375 = 0.0, %376 = 0.0, %377 = 0.0 {
        5 add i64, 5 load f32x8, 4 fma f32x8, 1 yield
      }
      4 horizontal_add f32
      %419: f32, %420: f32, %421: f32, %422: f32 = for %400 in 16..16 step 1 carry %401 = %396, %402 = %397, %403 = %398, %404 = %399 {
        5 add i64, 5 load f32, 4 fma f32, 1 yield
      }
      4 mul i64, 7 add i64, 4 store
    }
  }
  for each %442 in 8..8 step 1 {
    1 mul i64
    for each %445 in %7..%3 step 1 {
      1 mul i64
      %461: f32x8 = for %454 in 0..16 step 8 carry %455 = 0.0 {
        2 add i64, 2 load f32x8, 1 fma f32x8, 1 yield
      }
      1 horizontal_add f32
      %470: f32 = for %463 in 16..16 step 1 carry %464 = %462 {
        2 add i64, 2 load f32, 1 fma f32, 1 yield
      }
      1 mul i64, 1 add i64, 1 store
    }
  }
}

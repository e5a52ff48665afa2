; A single query with much to read: heads are inside, keys outside, in blocks that a second kernel combines.
;! outline = x86-64-v3
;! schedule = one key by key
;! schedule = blocks of keys
;! technique = key-by-key, key-blocks
func @main(v0: f32[1, 1, 2, 64], v1: f32[1, 512, 2, 64], v2: f32[1, 512, 2, 64]) {
  v3 = attention v0, v1, v2 { scale = f32 0.125, keys = [512], causal_from = [] }
  return v3
}
method "main" = @main {
  input "0"
  input "1"
  input "2"
  output "0"
}
;! ---
; x86-64-v3: attention of 2 queries to 4 keys, one key by key
kernel @attention(query: input f32[128] align 4, key: input f32[65536] align 4, value: input f32[65536] align 4, output: output f32[128] align 4, scores: scratch f32[544] align 64, found: output f32[288] align 64) {
  for %3 in 0..2 step 1 {
    3 mul i64, 2 signed_div i64, 1 sub i64, 1 signed_min i64, 1 signed_max i64
    for each %21 in 0..%20 step 1 {
      1 add i64
      for each %25 in 0..2 step 1 {
        8 mul i64, 8 add i64, 1 and i64, 24 load f32x8, 16 fma f32x8, 2 horizontal_add f32, 2 mul f32, 2 store
      }
    }
    1 mul i64
    for each %109 in %108..%17 step 1 {
      for each %112 in 0..2 step 1 {
        7 mul i64, 6 add i64, 1 and i64, 16 load f32x8, 8 fma f32x8, 1 horizontal_add f32, 1 mul f32, 1 store
      }
    }
    for each %174 in 0..2 step 1 {
      6 mul i64, 4 add i64, 1 and i64
      for each %201 in %17..%199 step 1 {
        1 add i64, 1 store
      }
      %210: f32x8 = for %205 in 0..%199 step 8 carry %206 = -3.4028235e38 {
        1 add i64, 1 load f32x8, 1 float_max_first f32x8, 1 yield
      }
      1 horizontal_max f32, 1 splat f32x8
      %259: f32x8 = for %214 in 0..%199 step 8 carry %215 = 0.0 {
        1 add i64, 1 load f32x8, 1 sub f32x8, 1 float_min_first f32x8, 1 float_max_first f32x8, 9 fma f32x8, 2 add f32x8, 1 bitcast i32x8, 1 shift_right_signed i32x8, 1 sub i32x8, 2 shift_left i32x8, 2 add i32x8, 2 bitcast f32x8, 2 mul f32x8, 1 store, 1 yield
      }
      1 horizontal_add f32, 4 add i64, 10 store
    }
    1 signed_div i64
    for %278 in 0..%277 step 1 {
      1 add i64
      for each %282 in 0..2 step 1 {
        8 mul i64, 8 add i64, 1 and i64, 24 load f32x8, 2 load_splat f32x8, 16 fma f32x8, 8 store
      }
    }
    1 mul i64
    for %360 in %359..%17 step 1 {
      for each %363 in 0..2 step 1 {
        7 mul i64, 6 add i64, 1 and i64, 16 load f32x8, 1 load_splat f32x8, 8 fma f32x8, 8 store
      }
    }
  }
}
; x86-64-v3: attention of 2 blocks of keys
kernel @attention_of_blocks(found: input f32[288] align 64, output: output f32[128] align 4) {
  for each %3 in 0..2 step 1 {
    2 add i64, 2 mul i64, 4 load_splat f32x8, 3 float_max_first f32x8, 2 sub f32x8, 2 float_min_first f32x8, 36 fma f32x8, 2 add f32x8, 2 bitcast i32x8, 2 shift_right_signed i32x8, 2 sub i32x8, 4 shift_left i32x8, 4 add i32x8, 4 bitcast f32x8, 4 mul f32x8, 16 load f32x8, 8 float_div f32x8, 8 store
  }
}

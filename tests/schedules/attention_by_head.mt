; Scores of a head, their softmax, and the sum of its values.
;! kernels = x86-64-v3
func @main(v0: f32[1, 2, 1, 8], v1: f32[1, 8, 1, 8], v2: f32[1, 8, 1, 8]) {
  v3 = attention v0, v1, v2 { scale = f32 0.5, keys = [8], causal_from = [] }
  return v3
}
method "main" = @main {
  input "0"
  input "1"
  input "2"
  output "0"
}
;! ---
; x86-64-v3: attention of 2 queries to 4 keys
kernel @attention(query: input f32[16] align 4, key: input f32[64] align 4, value: input f32[64] align 4, output: output f32[16] align 4, scores: scratch f32[32] align 64) {
  %16: i64 = and 15, -8
  %19: i64 = signed_div 8, 4
  %21: i64 = mul %19, 4
  for each %22 in 0..%21 step 4 {
    %24: i64 = mul %22, 8
    %26: i64 = mul %22, 8
    %28: i64 = add %26, 8
    %30: i64 = mul %22, 8
    %32: i64 = add %30, 16
    %34: i64 = mul %22, 8
    %36: i64 = add %34, 24
    %40: f32x8 = load query[0]
    %41: f32x8 = load query[8]
    %42: f32x8 = load key[%24]
    %43: f32x8 = load key[%28]
    %44: f32x8 = load key[%32]
    %45: f32x8 = load key[%36]
    %46: f32x8 = fma %40, %42, 0.0
    %47: f32x8 = fma %40, %43, 0.0
    %48: f32x8 = fma %40, %44, 0.0
    %49: f32x8 = fma %40, %45, 0.0
    %50: f32x8 = fma %41, %42, 0.0
    %51: f32x8 = fma %41, %43, 0.0
    %52: f32x8 = fma %41, %44, 0.0
    %53: f32x8 = fma %41, %45, 0.0
    %55: f32 = horizontal_add %46
    %56: f32 = mul %55, 0.5
    store scores[%22], %56
    %57: f32 = horizontal_add %47
    %58: f32 = mul %57, 0.5
    store scores[%22 + 1], %58
    %59: f32 = horizontal_add %48
    %60: f32 = mul %59, 0.5
    store scores[%22 + 2], %60
    %61: f32 = horizontal_add %49
    %62: f32 = mul %61, 0.5
    store scores[%22 + 3], %62
    %63: f32 = horizontal_add %50
    %64: f32 = mul %63, 0.5
    store scores[%22 + 16], %64
    %65: f32 = horizontal_add %51
    %66: f32 = mul %65, 0.5
    store scores[%22 + 17], %66
    %67: f32 = horizontal_add %52
    %68: f32 = mul %67, 0.5
    store scores[%22 + 18], %68
    %69: f32 = horizontal_add %53
    %70: f32 = mul %69, 0.5
    store scores[%22 + 19], %70
  }
  for each %71 in %21..8 step 1 {
    %73: i64 = mul %71, 8
    %77: f32x8 = load query[0]
    %78: f32x8 = load query[8]
    %79: f32x8 = load key[%73]
    %80: f32x8 = fma %77, %79, 0.0
    %81: f32x8 = fma %78, %79, 0.0
    %83: f32 = horizontal_add %80
    %84: f32 = mul %83, 0.5
    store scores[%71], %84
    %85: f32 = horizontal_add %81
    %86: f32 = mul %85, 0.5
    store scores[%71 + 16], %86
  }
  for each %88 in 8..%16 step 1 {
    store scores[%88], -inf
  }
  for each %89 in 8..%16 step 1 {
    store scores[%89 + 16], -inf
  }
  %96: f32x8 = for %92 in 0..%16 step 8 carry %93 = -inf {
    %94: f32x8 = load scores[%92]
    %95: f32x8 = float_max_first %94, %93
    yield %95
  }
  %97: f32 = horizontal_max %96
  %98: f32x8 = splat %97
  %144: f32x8 = for %100 in 0..%16 step 8 carry %101 = 0.0 {
    %102: f32x8 = load scores[%100]
    %103: f32x8 = sub %102, %98
    %106: f32x8 = float_min_first %103, 89.0
    %107: f32x8 = float_max_first %106, -104.0
    %110: f32x8 = fma %107, 1.442695, 12582912.0
    %112: f32x8 = add %110, -12582912.0
    %114: f32x8 = fma %112, -0.6933594, %107
    %116: f32x8 = fma %112, 0.00021219444, %114
    %119: f32x8 = fma 0.0013838235, %116, 0.008369297
    %121: f32x8 = fma %119, %116, 0.041668087
    %123: f32x8 = fma %121, %116, 0.16666515
    %125: f32x8 = fma %123, %116, 0.49999994
    %127: f32x8 = fma %125, %116, 1.0
    %129: f32x8 = fma %127, %116, 1.0
    %130: i32x8 = bitcast %110
    %131: i32x8 = shift_right_signed %130, 1
    %132: i32x8 = sub %130, %131
    %133: i32x8 = shift_left %131, 23
    %135: i32x8 = add %133, 1065353216
    %136: f32x8 = bitcast %135
    %137: i32x8 = shift_left %132, 23
    %139: i32x8 = add %137, 1065353216
    %140: f32x8 = bitcast %139
    %141: f32x8 = mul %129, %136
    %142: f32x8 = mul %141, %140
    store scores[%100], %142
    %143: f32x8 = add %101, %142
    yield %143
  }
  %145: f32 = horizontal_add %144
  %147: f32 = float_div 1.0, %145
  %154: f32x8 = for %150 in 0..%16 step 8 carry %151 = -inf {
    %152: f32x8 = load scores[%150 + 16]
    %153: f32x8 = float_max_first %152, %151
    yield %153
  }
  %155: f32 = horizontal_max %154
  %156: f32x8 = splat %155
  %202: f32x8 = for %158 in 0..%16 step 8 carry %159 = 0.0 {
    %160: f32x8 = load scores[%158 + 16]
    %161: f32x8 = sub %160, %156
    %164: f32x8 = float_min_first %161, 89.0
    %165: f32x8 = float_max_first %164, -104.0
    %168: f32x8 = fma %165, 1.442695, 12582912.0
    %170: f32x8 = add %168, -12582912.0
    %172: f32x8 = fma %170, -0.6933594, %165
    %174: f32x8 = fma %170, 0.00021219444, %172
    %177: f32x8 = fma 0.0013838235, %174, 0.008369297
    %179: f32x8 = fma %177, %174, 0.041668087
    %181: f32x8 = fma %179, %174, 0.16666515
    %183: f32x8 = fma %181, %174, 0.49999994
    %185: f32x8 = fma %183, %174, 1.0
    %187: f32x8 = fma %185, %174, 1.0
    %188: i32x8 = bitcast %168
    %189: i32x8 = shift_right_signed %188, 1
    %190: i32x8 = sub %188, %189
    %191: i32x8 = shift_left %189, 23
    %193: i32x8 = add %191, 1065353216
    %194: f32x8 = bitcast %193
    %195: i32x8 = shift_left %190, 23
    %197: i32x8 = add %195, 1065353216
    %198: f32x8 = bitcast %197
    %199: f32x8 = mul %187, %194
    %200: f32x8 = mul %199, %198
    store scores[%158 + 16], %200
    %201: f32x8 = add %159, %200
    yield %201
  }
  %203: f32 = horizontal_add %202
  %205: f32 = float_div 1.0, %203
  %218: f32x8, %219: f32x8 = for %208 in 0..8 step 1 carry %209 = 0.0, %210 = 0.0 {
    %212: i64 = mul %208, 8
    %213: f32x8 = load value[%212]
    %214: f32x8 = load_splat scores[%208]
    %215: f32x8 = fma %214, %213, %209
    %216: f32x8 = load_splat scores[%208 + 16]
    %217: f32x8 = fma %216, %213, %210
    yield %215, %217
  }
  %220: f32x8 = splat %147
  %221: f32x8 = mul %218, %220
  store output[0], %221
  %222: f32x8 = splat %205
  %223: f32x8 = mul %219, %222
  store output[8], %223
}

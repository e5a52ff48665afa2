; Boxes that overlap none of those chosen before.
;! kernels = x86-64-v3
func @main(v0: f32[8, 4], v1: f32[1, 8], v2: f32[1], v3: f32[1], v4: f32[1]) {
  v5, v6, v7 = non_max_suppression v0, v1, v2, v3, v4 { count = 3 }
  return v5, v6, v7
}
method "main" = @main {
  input "0"
  input "1"
  input "2"
  input "3"
  input "4"
  output "0"
  output "1"
  output "2"
}
;! ---
; x86-64-v3: suppression of boxes, 3 of 8, 8 at a time
kernel @non_max_suppression(lane_numbers: input i32[8] align 4, boxes: input f32[32] align 4, scores: input f32[8] align 4, overlap: input f32[1] align 4, threshold: input f32[1] align 4, sigma: input f32[1] align 4, columns: scratch f32[48] align 64, positions: output i32[3] align 4, chosen_scores: output f32[3] align 4, counts: output i32[1] align 4) {
  %1: f32x8 = load_splat overlap[0]
  %2: f32x8 = load_splat threshold[0]
  %3: f32x8 = load_splat sigma[0]
  %4: i32x8 = load lane_numbers[0]
  for each %7 in 0..8 step 1 {
    %9: i64 = mul %7, 4
    %10: f32 = load boxes[%9]
    %11: f32 = load boxes[%9 + 1]
    %12: f32 = load boxes[%9 + 2]
    %13: f32 = load boxes[%9 + 3]
    %14: f32 = float_min_first %10, %12
    %15: f32 = float_max_first %10, %12
    store columns[%7], %14
    store columns[%7 + 16], %15
    %16: f32 = sub %15, %14
    %17: f32 = float_min_first %11, %13
    %18: f32 = float_max_first %11, %13
    store columns[%7 + 8], %17
    store columns[%7 + 24], %18
    %19: f32 = sub %18, %17
    %20: f32 = mul %16, %19
    store columns[%7 + 32], %20
  }
  for each %27 in 0..8 step 1 {
    %28: f32 = load scores[%27]
    store columns[%27 + 40], %28
  }
  %47: f32x8, %48: i32x8 = for %34 in 0..8 step 8 carry %35 = -inf, %36 = 0 {
    %37: f32x8 = load columns[%34 + 40]
    %38: maskx8 = less %2, %37
    %40: f32x8 = select %38, %37, -inf
    store columns[%34 + 40], %40
    %41: i32 = wrap %34
    %42: i32x8 = splat %41
    %43: i32x8 = add %42, %4
    %44: maskx8 = less %35, %40
    %45: f32x8 = select %44, %40, %35
    %46: i32x8 = select %44, %43, %36
    yield %45, %46
  }
  %217: i32, %218: f32x8, %219: i32x8 = loop carry %50 = 0, %51 = %47, %52 = %48 {
    %53: f32 = horizontal_max %51
    %55: mask = less -inf, %53
    %211: i32, %212: f32x8, %213: i32x8 = if %55 {
      %56: f32x8 = splat %53
      %57: maskx8 = equal %51, %56
      %59: i32x8 = select %57, %52, 2147483647
      %60: i32 = horizontal_min %59
      %61: i64 = sign_extend %50
      store positions[%61], %60
      store chosen_scores[%61], %53
      %62: i64 = sign_extend %60
      store columns[%62 + 40], -inf
      %64: f32 = extract %3, 0
      %66: mask = less 0.0, %64
      %207: f32x8, %208: i32x8 = if %66 {
        %67: f32x8 = load_splat columns[%62]
        %68: f32x8 = load_splat columns[%62 + 8]
        %69: f32x8 = load_splat columns[%62 + 16]
        %70: f32x8 = load_splat columns[%62 + 24]
        %71: f32x8 = load_splat columns[%62 + 32]
        %73: f32x8 = float_div -0.5, %3
        %158: f32x8, %159: i32x8 = for %78 in 0..8 step 8 carry %79 = -inf, %80 = 0 {
          %81: f32x8 = load columns[%78]
          %82: f32x8 = load columns[%78 + 8]
          %83: f32x8 = load columns[%78 + 16]
          %84: f32x8 = load columns[%78 + 24]
          %85: f32x8 = load columns[%78 + 32]
          %87: f32x8 = float_min_first %83, %69
          %88: f32x8 = float_max_first %81, %67
          %89: f32x8 = sub %87, %88
          %90: f32x8 = float_max_first %89, 0.0
          %91: f32x8 = float_min_first %84, %70
          %92: f32x8 = float_max_first %82, %68
          %93: f32x8 = sub %91, %92
          %94: f32x8 = float_max_first %93, 0.0
          %95: f32x8 = mul %90, %94
          %96: f32x8 = add %85, %71
          %97: f32x8 = sub %96, %95
          %98: f32x8 = float_div %95, %97
          %99: maskx8 = less 0.0, %85
          %100: maskx8 = less 0.0, %71
          %101: maskx8 = and %99, %100
          %102: f32x8 = select %101, %98, 0.0
          %103: f32x8 = load columns[%78 + 40]
          %104: f32x8 = mul %73, %102
          %105: f32x8 = mul %104, %102
          %108: f32x8 = float_min_first %105, 89.0
          %109: f32x8 = float_max_first %108, -104.0
          %112: f32x8 = fma %109, 1.442695, 12582912.0
          %114: f32x8 = add %112, -12582912.0
          %116: f32x8 = fma %114, -0.6933594, %109
          %118: f32x8 = fma %114, 0.00021219444, %116
          %121: f32x8 = fma 0.0013838235, %118, 0.008369297
          %123: f32x8 = fma %121, %118, 0.041668087
          %125: f32x8 = fma %123, %118, 0.16666515
          %127: f32x8 = fma %125, %118, 0.49999994
          %129: f32x8 = fma %127, %118, 1.0
          %131: f32x8 = fma %129, %118, 1.0
          %132: i32x8 = bitcast %112
          %133: i32x8 = shift_right_signed %132, 1
          %134: i32x8 = sub %132, %133
          %135: i32x8 = shift_left %133, 23
          %137: i32x8 = add %135, 1065353216
          %138: f32x8 = bitcast %137
          %139: i32x8 = shift_left %134, 23
          %141: i32x8 = add %139, 1065353216
          %142: f32x8 = bitcast %141
          %143: f32x8 = mul %131, %138
          %144: f32x8 = mul %143, %142
          %145: f32x8 = mul %103, %144
          %146: maskx8 = less %2, %145
          %148: f32x8 = select %146, %145, -inf
          %150: maskx8 = less_equal %1, %102
          %151: f32x8 = select %150, -inf, %148
          store columns[%78 + 40], %151
          %152: i32 = wrap %78
          %153: i32x8 = splat %152
          %154: i32x8 = add %153, %4
          %155: maskx8 = less %79, %151
          %156: f32x8 = select %155, %151, %79
          %157: i32x8 = select %155, %154, %80
          yield %156, %157
        }
        yield %158, %159
      } else {
        %160: f32x8 = load_splat columns[%62]
        %161: f32x8 = load_splat columns[%62 + 8]
        %162: f32x8 = load_splat columns[%62 + 16]
        %163: f32x8 = load_splat columns[%62 + 24]
        %164: f32x8 = load_splat columns[%62 + 32]
        %205: f32x8, %206: i32x8 = for %170 in 0..8 step 8 carry %171 = -inf, %172 = 0 {
          %173: f32x8 = load columns[%170]
          %174: f32x8 = load columns[%170 + 8]
          %175: f32x8 = load columns[%170 + 16]
          %176: f32x8 = load columns[%170 + 24]
          %177: f32x8 = load columns[%170 + 32]
          %179: f32x8 = float_min_first %175, %162
          %180: f32x8 = float_max_first %173, %160
          %181: f32x8 = sub %179, %180
          %182: f32x8 = float_max_first %181, 0.0
          %183: f32x8 = float_min_first %176, %163
          %184: f32x8 = float_max_first %174, %161
          %185: f32x8 = sub %183, %184
          %186: f32x8 = float_max_first %185, 0.0
          %187: f32x8 = mul %182, %186
          %188: f32x8 = add %177, %164
          %189: f32x8 = sub %188, %187
          %190: f32x8 = float_div %187, %189
          %191: maskx8 = less 0.0, %177
          %192: maskx8 = less 0.0, %164
          %193: maskx8 = and %191, %192
          %194: f32x8 = select %193, %190, 0.0
          %195: f32x8 = load columns[%170 + 40]
          %197: maskx8 = less_equal %1, %194
          %198: f32x8 = select %197, -inf, %195
          store columns[%170 + 40], %198
          %199: i32 = wrap %170
          %200: i32x8 = splat %199
          %201: i32x8 = add %200, %4
          %202: maskx8 = less %171, %198
          %203: f32x8 = select %202, %198, %171
          %204: i32x8 = select %202, %201, %172
          yield %203, %204
        }
        yield %205, %206
      }
      %210: i32 = add %50, 1
      yield %210, %207, %208
    } else {
      yield %50, %51, %52
    }
    %215: mask = less %211, 3
    %216: mask = and %55, %215
    yield %216, %211, %212, %213
  }
  %223: i64 = sign_extend %217
  for each %224 in %223..3 step 1 {
    store positions[%224], 0
    store chosen_scores[%224], 0.0
  }
  store counts[0], %217
}

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
  %216: i64, %217: f32x8, %218: i32x8 = loop carry %50 = 0, %51 = %47, %52 = %48 {
    %53: f32 = horizontal_max %51
    %55: mask = less -inf, %53
    %210: i64, %211: f32x8, %212: i32x8 = if %55 {
      %56: f32x8 = splat %53
      %57: maskx8 = equal %51, %56
      %59: i32x8 = select %57, %52, 2147483647
      %60: i32 = horizontal_min %59
      store positions[%50], %60
      store chosen_scores[%50], %53
      %61: i64 = sign_extend %60
      store columns[%61 + 40], -inf
      %63: f32 = extract %3, 0
      %65: mask = less 0.0, %63
      %206: f32x8, %207: i32x8 = if %65 {
        %66: f32x8 = load_splat columns[%61]
        %67: f32x8 = load_splat columns[%61 + 8]
        %68: f32x8 = load_splat columns[%61 + 16]
        %69: f32x8 = load_splat columns[%61 + 24]
        %70: f32x8 = load_splat columns[%61 + 32]
        %72: f32x8 = float_div -0.5, %3
        %157: f32x8, %158: i32x8 = for %77 in 0..8 step 8 carry %78 = -inf, %79 = 0 {
          %80: f32x8 = load columns[%77]
          %81: f32x8 = load columns[%77 + 8]
          %82: f32x8 = load columns[%77 + 16]
          %83: f32x8 = load columns[%77 + 24]
          %84: f32x8 = load columns[%77 + 32]
          %86: f32x8 = float_min_first %82, %68
          %87: f32x8 = float_max_first %80, %66
          %88: f32x8 = sub %86, %87
          %89: f32x8 = float_max_first %88, 0.0
          %90: f32x8 = float_min_first %83, %69
          %91: f32x8 = float_max_first %81, %67
          %92: f32x8 = sub %90, %91
          %93: f32x8 = float_max_first %92, 0.0
          %94: f32x8 = mul %89, %93
          %95: f32x8 = add %84, %70
          %96: f32x8 = sub %95, %94
          %97: f32x8 = float_div %94, %96
          %98: maskx8 = less 0.0, %84
          %99: maskx8 = less 0.0, %70
          %100: maskx8 = and %98, %99
          %101: f32x8 = select %100, %97, 0.0
          %102: f32x8 = load columns[%77 + 40]
          %103: f32x8 = mul %72, %101
          %104: f32x8 = mul %103, %101
          %107: f32x8 = float_min_first %104, 89.0
          %108: f32x8 = float_max_first %107, -104.0
          %111: f32x8 = fma %108, 1.442695, 12582912.0
          %113: f32x8 = add %111, -12582912.0
          %115: f32x8 = fma %113, -0.6933594, %108
          %117: f32x8 = fma %113, 0.00021219444, %115
          %120: f32x8 = fma 0.0013838235, %117, 0.008369297
          %122: f32x8 = fma %120, %117, 0.041668087
          %124: f32x8 = fma %122, %117, 0.16666515
          %126: f32x8 = fma %124, %117, 0.49999994
          %128: f32x8 = fma %126, %117, 1.0
          %130: f32x8 = fma %128, %117, 1.0
          %131: i32x8 = bitcast %111
          %132: i32x8 = shift_right_signed %131, 1
          %133: i32x8 = sub %131, %132
          %134: i32x8 = shift_left %132, 23
          %136: i32x8 = add %134, 1065353216
          %137: f32x8 = bitcast %136
          %138: i32x8 = shift_left %133, 23
          %140: i32x8 = add %138, 1065353216
          %141: f32x8 = bitcast %140
          %142: f32x8 = mul %130, %137
          %143: f32x8 = mul %142, %141
          %144: f32x8 = mul %102, %143
          %145: maskx8 = less %2, %144
          %147: f32x8 = select %145, %144, -inf
          %149: maskx8 = less_equal %1, %101
          %150: f32x8 = select %149, -inf, %147
          store columns[%77 + 40], %150
          %151: i32 = wrap %77
          %152: i32x8 = splat %151
          %153: i32x8 = add %152, %4
          %154: maskx8 = less %78, %150
          %155: f32x8 = select %154, %150, %78
          %156: i32x8 = select %154, %153, %79
          yield %155, %156
        }
        yield %157, %158
      } else {
        %159: f32x8 = load_splat columns[%61]
        %160: f32x8 = load_splat columns[%61 + 8]
        %161: f32x8 = load_splat columns[%61 + 16]
        %162: f32x8 = load_splat columns[%61 + 24]
        %163: f32x8 = load_splat columns[%61 + 32]
        %204: f32x8, %205: i32x8 = for %169 in 0..8 step 8 carry %170 = -inf, %171 = 0 {
          %172: f32x8 = load columns[%169]
          %173: f32x8 = load columns[%169 + 8]
          %174: f32x8 = load columns[%169 + 16]
          %175: f32x8 = load columns[%169 + 24]
          %176: f32x8 = load columns[%169 + 32]
          %178: f32x8 = float_min_first %174, %161
          %179: f32x8 = float_max_first %172, %159
          %180: f32x8 = sub %178, %179
          %181: f32x8 = float_max_first %180, 0.0
          %182: f32x8 = float_min_first %175, %162
          %183: f32x8 = float_max_first %173, %160
          %184: f32x8 = sub %182, %183
          %185: f32x8 = float_max_first %184, 0.0
          %186: f32x8 = mul %181, %185
          %187: f32x8 = add %176, %163
          %188: f32x8 = sub %187, %186
          %189: f32x8 = float_div %186, %188
          %190: maskx8 = less 0.0, %176
          %191: maskx8 = less 0.0, %163
          %192: maskx8 = and %190, %191
          %193: f32x8 = select %192, %189, 0.0
          %194: f32x8 = load columns[%169 + 40]
          %196: maskx8 = less_equal %1, %193
          %197: f32x8 = select %196, -inf, %194
          store columns[%169 + 40], %197
          %198: i32 = wrap %169
          %199: i32x8 = splat %198
          %200: i32x8 = add %199, %4
          %201: maskx8 = less %170, %197
          %202: f32x8 = select %201, %197, %170
          %203: i32x8 = select %201, %200, %171
          yield %202, %203
        }
        yield %204, %205
      }
      %209: i64 = add %50, 1
      yield %209, %206, %207
    } else {
      yield %50, %51, %52
    }
    %214: mask = less %210, 3
    %215: mask = and %55, %214
    yield %215, %210, %211, %212
  }
  for each %222 in %216..3 step 1 {
    store positions[%222], 0
    store chosen_scores[%222], 0.0
  }
  %223: i32 = wrap %216
  store counts[0], %223
}

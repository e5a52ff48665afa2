; A window of an image: its border is computed apart.
;! kernels = x86-64-v3
func @main(v0: f32[1, 4, 4, 8]) {
  v1 = window v0 { reduction = max, summation = rows, size = [3, 3], strides = [1, 1], dilation = [1, 1], padding_low = [1, 1], padding_high = [1, 1], positions = [], shift = [] }
  return v1
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v3: windows of 3x3, 8 channels at a time
kernel @window_3x3(operand0: input f32[128] align 4, output0: output f32[128] align 4) {
  for each %4 in 0..4 step 1 {
    %6: i64 = signed_div %4, 4
    %7: i64 = signed_rem %4, 4
    for each %10 in 0..4 step 1 {
      %12: i64 = mul %4, 4
      %13: i64 = add %12, %10
      %17: i64 = add %7, -1
      %19: i64 = add %10, -1
      %21: i64 = mul %6, 4
      %24: mask = unsigned_less %17, 2
      %25: mask = unsigned_less %19, 2
      %26: mask = and %24, %25
      %78: f32x8 = if %26 {
        %28: i64 = add %21, %17
        %30: i64 = mul %28, 4
        %31: i64 = add %30, %19
        %33: i64 = mul %31, 8
        %34: f32x8 = load operand0[%33]
        %35: f32x8 = float_max_first -inf, %34
        %36: f32x8 = load operand0[%33 + 8]
        %37: f32x8 = float_max_first %35, %36
        %38: f32x8 = load operand0[%33 + 16]
        %39: f32x8 = float_max_first %37, %38
        %40: f32x8 = load operand0[%33 + 32]
        %41: f32x8 = float_max_first %39, %40
        %42: f32x8 = load operand0[%33 + 40]
        %43: f32x8 = float_max_first %41, %42
        %44: f32x8 = load operand0[%33 + 48]
        %45: f32x8 = float_max_first %43, %44
        %46: f32x8 = load operand0[%33 + 64]
        %47: f32x8 = float_max_first %45, %46
        %48: f32x8 = load operand0[%33 + 72]
        %49: f32x8 = float_max_first %47, %48
        %50: f32x8 = load operand0[%33 + 80]
        %51: f32x8 = float_max_first %49, %50
        yield %51
      } else {
        %77: f32x8 = for %55 in 0..3 step 1 carry %56 = -inf {
          %57: i64 = add %17, %55
          %58: i64 = add %21, %57
          %60: i64 = mul %58, 4
          %76: f32x8 = for %62 in 0..3 step 1 carry %63 = %56 {
            %64: i64 = add %19, %62
            %67: mask = unsigned_less %57, 4
            %68: mask = unsigned_less %64, 4
            %69: mask = and %67, %68
            %75: f32x8 = if %69 {
              %70: i64 = add %60, %64
              %72: i64 = mul %70, 8
              %73: f32x8 = load operand0[%72]
              %74: f32x8 = float_max_first %63, %73
              yield %74
            } else {
              yield %63
            }
            yield %75
          }
          yield %76
        }
        yield %77
      }
      %80: i64 = mul %13, 8
      store output0[%80], %78
    }
  }
}

; Few output channels with long sums: each output has several sums, so that products need not wait for each other.
;! kernels = x86-64-v4
const0: i8[2, 256] = hex "789b34caf54f2e220acd941e71b88d5836866d0d858b63549e94be2cacc67f5b7ef28f2d9903959f63d3d893dce752779c84162917ec8ff1af4a6422d367e18d5eb6dfa465a5331f758e793ea95a94eb0d15b62a92a709a593a44ed2279662e3954580c351a904ba16e856bab99431e06ad96a3a1e1f1c564c14fb7fa4123e95d166f4677be0d2fb1270d7e37fdb6eff60101282817c6a76d58548a61aa13bce14fdc62fdc6b54ac97f1a1d76e89adc8fe268f6116ca41891e55edf1cec76f016c5006833bcac3711b6752a9f1e10d281139fa834715b9280598b1262be8c3699fc677f9cc30273abbded4e322649af5d83c55be535a4ca7fdad840256029f3d38f9f7267dd296b6755c001ba0ef9ce1e2c84880b9ae44dd2a495a92be65b32f27ce5ba8bea759990b0a2db732515dfd273b58f5719bcf79fa719ebc75a7e7cccda091e0d206805eeabacec60e4f22eab19f2e84f771f4214c7a2399431853cb86097d50316910a2293e8a1f93584cd44229ba014fd24e6e98f722c0565383c89bcda857c61fd80e8e099b4e2b503b07767604f45ee7c2ac586036f3b69cd3136c829df4ad2a78a13513a5f3b4295a16ff7f136624ac469d3b0024738c091105f44a6db87fb098c6ce1158d3fc2098906adfa4596d09f5df8da9d0d1a46b838f2c0fce869343a02c542f6c816eff3aae04e968552f7d303aa1974d265b0d5c69"
func @main(v0: i8[1, 256]) {
  v1 = constant { data = const0 }
  v2 = matmul v0, v1 { left_zero_point = 3, right_zero_point = 0, accumulator = i32 }
  return v2
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v4: products of unsigned bytes in fours, 1 pixels x 2 channels at a time, unrolled 4 times, staged rows
kernel @matmul_i8(input: input i8[256] align 1, weights: input i8[512] align 64, initial: input i32[2] align 64, ring: scratch i8[272] align 64, output0: output i32[2] align 4) {
  for each %4 in 0..256 step 64 {
    store ring[%4], -125: i8x64
  }
  store ring[256], -125: i8x64 active 16
  %78: i64 = for %15 in 0..1 step 1 carry %16 = 0 {
    %18: i64 = add %15, 1
    %19: i64 = signed_max %16, %15
    for %21 in %19..%18 step 1 {
      %24: i64 = mul %21, 256
      for %27 in 0..256 step 64 {
        %28: i64 = add %24, %27
        %29: i8x64 = load input[%28]
        %31: i8x64 = xor %29, -128
        store ring[%27], %31
      }
    }
    %44: i32x2 = load initial[0]
    %69: i32x2, %70: i32x2, %71: i32x2, %72: i32x2 = for %50 in 0..256 step 16 carry %51 = %44, %52 = 0, %53 = 0, %54 = 0 {
      %56: i64 = mul %50, 2
      %57: i8x8 = load weights[%56]
      %58: i8x8 = load_splat_group ring[%50] group 4
      %59: i32x2 = dot_unsigned_signed8 %51, %58, %57
      %60: i8x8 = load weights[%56 + 8]
      %61: i8x8 = load_splat_group ring[%50 + 4] group 4
      %62: i32x2 = dot_unsigned_signed8 %52, %61, %60
      %63: i8x8 = load weights[%56 + 16]
      %64: i8x8 = load_splat_group ring[%50 + 8] group 4
      %65: i32x2 = dot_unsigned_signed8 %53, %64, %63
      %66: i8x8 = load weights[%56 + 24]
      %67: i8x8 = load_splat_group ring[%50 + 12] group 4
      %68: i32x2 = dot_unsigned_signed8 %54, %67, %66
      yield %59, %62, %65, %68
    }
    %73: i32x2 = add %69, %70
    %74: i32x2 = add %73, %71
    %75: i32x2 = add %74, %72
    %77: i64 = mul %15, 2
    store output0[%77], %75
    yield %18
  }
}
